// popcnt on 64-bit words, blocks of 2 x 4 rows so that a word is loaded once for several pairs. Binds: one popcnt a
// cycle, 64 bits a cycle; at the few hundred bits of a typical row that is level with the vector look-up forms.
// Blocks that are not full repeat their last row.
#include <immintrin.h>

#include "lowtide/ops/code_dot/code_dot.hpp"

namespace lowtide::avx2 {

void code_counts(const std::uint64_t* a, std::size_t n_a, const std::uint64_t* b, std::size_t n_b, std::size_t n_words,
                 std::uint32_t* counts, std::size_t stride) {
  for (std::size_t i = 0; i < n_a; i += 2) {
    const std::size_t rows_a = n_a - i < 2 ? 1 : 2;
    const std::uint64_t *x0 = a + i * n_words, *x1 = x0 + (rows_a - 1) * n_words;
    for (std::size_t j = 0; j < n_b; j += 4) {
      const std::size_t rows_b = n_b - j < 4 ? n_b - j : 4;
      const std::uint64_t* y[4];
      for (std::size_t r = 0; r < 4; ++r) y[r] = b + (j + (r < rows_b ? r : rows_b - 1)) * n_words;
      std::uint64_t total[2][4] = {};
      for (std::size_t w = 0; w < n_words; ++w) {
        for (int r = 0; r < 4; ++r) {
          total[0][r] += static_cast<std::uint64_t>(_mm_popcnt_u64(x0[w] & y[r][w]));
          total[1][r] += static_cast<std::uint64_t>(_mm_popcnt_u64(x1[w] & y[r][w]));
        }
      }
      for (std::size_t p = 0; p < rows_a; ++p)
        for (std::size_t r = 0; r < rows_b; ++r)
          counts[(i + p) * stride + j + r] += static_cast<std::uint32_t>(total[p][r]);
    }
  }
}

}  // namespace lowtide::avx2
