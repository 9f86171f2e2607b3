// popcnt on 64-bit words, blocks of 2 x 2 rows. Binds: one popcnt a cycle, two of them for 64 trits. Blocks that are
// not full repeat their last row.
#include <immintrin.h>

#include "lowtide/ops/trit_dot/trit_dot.hpp"

namespace lowtide::avx2 {

void trit_sums(const std::uint64_t* a, std::size_t n_a, const std::uint64_t* b, std::size_t n_b, std::size_t n_groups,
               std::int32_t* sums, std::size_t stride) {
  const std::size_t words = 2 * kTritGroup * n_groups;
  for (std::size_t i = 0; i < n_a; i += 2) {
    const std::size_t rows_a = n_a - i < 2 ? 1 : 2;
    const std::uint64_t* x[2] = {a + i * words, a + (i + rows_a - 1) * words};
    for (std::size_t j = 0; j < n_b; j += 2) {
      const std::size_t rows_b = n_b - j < 2 ? 1 : 2;
      const std::uint64_t* y[2] = {b + j * words, b + (j + rows_b - 1) * words};
      std::int64_t common[2][2] = {}, opposite[2][2] = {};
      for (std::size_t g = 0; g < words; g += 2 * kTritGroup) {
#pragma GCC unroll 8
        for (std::size_t w = g; w < g + kTritGroup; ++w) {
          for (int p = 0; p < 2; ++p) {
            for (int q = 0; q < 2; ++q) {
              const std::uint64_t both = x[p][w] & y[q][w];
              common[p][q] += _mm_popcnt_u64(both);
              opposite[p][q] += _mm_popcnt_u64(both & (x[p][w + kTritGroup] ^ y[q][w + kTritGroup]));
            }
          }
        }
      }
      for (std::size_t p = 0; p < rows_a; ++p)
        for (std::size_t q = 0; q < rows_b; ++q)
          sums[(i + p) * stride + j + q] += static_cast<std::int32_t>(common[p][q] - 2 * opposite[p][q]);
    }
  }
}

}  // namespace lowtide::avx2
