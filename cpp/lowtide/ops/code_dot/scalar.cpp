#include "lowtide/ops/code_dot/code_dot.hpp"

namespace lowtide::scalar {
namespace {

// Ones of eight bytes at once; shifts and additions only, which baseline vector code has for 64-bit lanes.
inline std::uint64_t ones_in_bytes(std::uint64_t x) {
  x -= x >> 1 & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
  return (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
}

}  // namespace

void code_counts(const std::uint64_t* a, std::size_t n_a, const std::uint64_t* b, std::size_t n_b, std::size_t n_words,
                 std::uint32_t* counts, std::size_t stride) {
  for (std::size_t i = 0; i < n_a; ++i) {
    for (std::size_t j = 0; j < n_b; ++j) {
      const std::uint64_t *x = a + i * n_words, *y = b + j * n_words;
      std::uint64_t total = 0;
      for (std::size_t w = 0; w < n_words; w += 31) {
        // 31 words add at most 248 to a byte, so bytes are summed across only once for all of them.
        const std::size_t end = n_words - w < 31 ? n_words : w + 31;
        std::uint64_t bytes = 0;
        for (std::size_t u = w; u < end; ++u) bytes += ones_in_bytes(x[u] & y[u]);
        bytes = (bytes & 0x00FF00FF00FF00FFu) + (bytes >> 8 & 0x00FF00FF00FF00FFu);
        bytes += bytes >> 16;
        total += (bytes & 0xFFFF) + (bytes >> 32 & 0xFFFF);
      }
      counts[i * stride + j] += static_cast<std::uint32_t>(total);
    }
  }
}

}  // namespace lowtide::scalar
