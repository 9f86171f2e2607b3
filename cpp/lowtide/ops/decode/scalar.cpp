#include "lowtide/ops/decode/decode.hpp"

namespace lowtide::scalar {
namespace {

template <typename T>
void decode_as(const std::uint64_t* row, std::size_t n_levels, unsigned bits, const float* book, std::size_t width,
               T* out) {
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  for (std::size_t j = 0; j < n_levels; ++j) {
    const std::size_t first = j * bits, word = first / 64, shift = first % 64;
    std::uint64_t level = row[word] >> shift;
    if (shift + bits > 64) level |= row[word + 1] << (64 - shift);
    const float* value = book + (level & mask) * width;
    for (std::size_t p = 0; p < width; ++p) out[j * width + p] = value[p];
  }
}

}  // namespace

const DecodeOp decode = {decode_as<float>, decode_as<double>};

}  // namespace lowtide::scalar
