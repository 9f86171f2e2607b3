#include "lowtide/ops/pack/pack.hpp"

namespace lowtide::scalar {

void pack(const std::uint8_t* levels, std::size_t n_levels, unsigned bits, std::uint64_t* row) {
  const std::size_t n_words = words_per_row(n_levels, bits);
  for (std::size_t w = 0; w < n_words; ++w) row[w] = 0;
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  for (std::size_t j = 0; j < n_levels; ++j) {
    const std::size_t first = j * bits, word = first / 64, shift = first % 64;
    const std::uint64_t level = levels[j] & mask;
    row[word] |= level << shift;
    if (shift + bits > 64) row[word + 1] |= level >> (64 - shift);
  }
}

void unpack(const std::uint64_t* row, std::size_t n_levels, unsigned bits, std::uint8_t* levels) {
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  for (std::size_t j = 0; j < n_levels; ++j) {
    const std::size_t first = j * bits, word = first / 64, shift = first % 64;
    std::uint64_t level = row[word] >> shift;
    if (shift + bits > 64) level |= row[word + 1] << (64 - shift);
    levels[j] = static_cast<std::uint8_t>(level & mask);
  }
}

}  // namespace lowtide::scalar
