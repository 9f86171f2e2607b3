// A panel is its rows, one right after the other; tables are the weights as integers.
#include "lowtide/ops/bit_dot/bit_dot.hpp"

namespace lowtide::scalar {
namespace {

std::size_t bits_bytes(std::size_t n_words) { return kDotRows * n_words * sizeof(std::uint64_t); }

std::size_t weights_bytes(std::size_t n_words) { return 64 * n_words * sizeof(std::uint32_t); }

void prepare_bits(const std::uint64_t* rows, std::size_t n_rows, std::size_t stride, std::size_t n_words, void* bits) {
  auto* to = static_cast<std::uint64_t*>(bits);
  for (std::size_t i = 0; i < n_rows; ++i)
    for (std::size_t w = 0; w < n_words; ++w) to[i * n_words + w] = rows[i * stride + w];
}

void prepare_weights(const float* weights, std::size_t n_words, void* tables) {
  auto* to = static_cast<std::uint32_t*>(tables);
  for (std::size_t k = 0; k < 64 * n_words; ++k) to[k] = static_cast<std::uint32_t>(weights[k]);
}

void multiply(const void* bits, const void* tables, std::size_t n_words, std::size_t n_rows, double* sums) {
  const auto* row = static_cast<const std::uint64_t*>(bits);
  for (std::size_t i = 0; i < n_rows; ++i, row += n_words) {
    const auto* weight = static_cast<const std::uint32_t*>(tables);
    std::uint32_t total = 0;
    for (std::size_t w = 0; w < n_words; ++w, weight += 64)
      for (unsigned k = 0; k < 64; ++k) total += weight[k] & (0u - static_cast<std::uint32_t>(row[w] >> k & 1));
    sums[i] += total;
  }
}

}  // namespace

const BitDotOp bit_dot = {bits_bytes, weights_bytes, prepare_bits, prepare_weights, multiply};

}  // namespace lowtide::scalar
