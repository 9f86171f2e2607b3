// vpandq, vpternlogq, vpopcntq twice and vpaddq twice on blocks of 4 x 2 rows: 16 counters in registers. Binds: the two
// vector ports that these instructions share, 512 trits of a pair in 3 cycles. Long rows are cut into runs of 64 groups
// so that the b rows of a tile stay in L2. Blocks that are not full repeat their last row.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false alarms of GCC 12 inside its own header
#include <immintrin.h>

#include "lowtide/ops/trit_dot/trit_dot.hpp"

namespace lowtide::avx512 {
namespace {

constexpr std::size_t kRun = 64;
constexpr int kRowsA = 4, kRowsB = 2;
constexpr int kFirstAndDiffer = 0x60;  // x AND (y XOR z) as a truth table of vpternlogq

inline void sum_block(const std::uint64_t* const (&x)[kRowsA], const std::uint64_t* const (&y)[kRowsB],
                      std::size_t n_words, __m512i (&common)[kRowsA][kRowsB], __m512i (&opposite)[kRowsA][kRowsB]) {
  for (std::size_t w = 0; w < n_words; w += 2 * kTritGroup) {
    __m512i nonzero[kRowsB], minus[kRowsB];
#pragma GCC unroll 2
    for (int q = 0; q < kRowsB; ++q) {
      nonzero[q] = _mm512_load_si512(y[q] + w);
      minus[q] = _mm512_load_si512(y[q] + w + kTritGroup);
    }
#pragma GCC unroll 4
    for (int p = 0; p < kRowsA; ++p) {
      const __m512i own = _mm512_load_si512(x[p] + w), own_minus = _mm512_load_si512(x[p] + w + kTritGroup);
#pragma GCC unroll 2
      for (int q = 0; q < kRowsB; ++q) {
        const __m512i both = _mm512_and_si512(own, nonzero[q]);
        const __m512i differ = _mm512_ternarylogic_epi64(both, own_minus, minus[q], kFirstAndDiffer);
        common[p][q] = _mm512_add_epi64(common[p][q], _mm512_popcnt_epi64(both));
        opposite[p][q] = _mm512_add_epi64(opposite[p][q], _mm512_popcnt_epi64(differ));
      }
    }
  }
}

}  // namespace

void trit_sums(const std::uint64_t* a, std::size_t n_a, const std::uint64_t* b, std::size_t n_b, std::size_t n_groups,
               std::int32_t* sums, std::size_t stride) {
  const std::size_t words = 2 * kTritGroup * n_groups;
  for (std::size_t first = 0; first < n_groups; first += kRun) {
    const std::size_t run = 2 * kTritGroup * (n_groups - first < kRun ? n_groups - first : kRun);
    const std::uint64_t *left = a + 2 * kTritGroup * first, *right = b + 2 * kTritGroup * first;
    for (std::size_t i = 0; i < n_a; i += kRowsA) {
      const std::size_t rows_a = n_a - i < kRowsA ? n_a - i : kRowsA;
      const std::uint64_t* x[kRowsA];
      for (std::size_t p = 0; p < kRowsA; ++p) x[p] = left + (i + (p < rows_a ? p : rows_a - 1)) * words;
      for (std::size_t j = 0; j < n_b; j += kRowsB) {
        const std::size_t rows_b = n_b - j < kRowsB ? n_b - j : kRowsB;
        const std::uint64_t* y[kRowsB];
        for (std::size_t q = 0; q < kRowsB; ++q) y[q] = right + (j + (q < rows_b ? q : rows_b - 1)) * words;
        __m512i common[kRowsA][kRowsB] = {}, opposite[kRowsA][kRowsB] = {};
        sum_block(x, y, run, common, opposite);
        for (std::size_t p = 0; p < rows_a; ++p)
          for (std::size_t q = 0; q < rows_b; ++q)
            sums[(i + p) * stride + j + q] += static_cast<std::int32_t>(_mm512_reduce_add_epi64(common[p][q]) -
                                                                        2 * _mm512_reduce_add_epi64(opposite[p][q]));
      }
    }
  }
}

}  // namespace lowtide::avx512
