// vpandq, vpopcntq, vpaddq on blocks of 4 x 4 rows: 16 counters in registers, 8 loads for 16 pairs. Binds: the two
// vector ports that these three instructions share, 512 bits of a pair in 1.5 cycles. Long rows are cut into runs of
// 512 words so that the b rows of a tile stay in L2. The last words are loaded under a mask; blocks that are not full
// repeat their last row.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false alarms of GCC 12 inside its own header
#include <immintrin.h>

#include "lowtide/ops/code_dot/code_dot.hpp"

namespace lowtide::avx512 {
namespace {

constexpr std::size_t kRun = 512;

struct Block {
  const std::uint64_t* row[4];
};

inline Block block(const std::uint64_t* rows, std::size_t count, std::size_t n_words, std::size_t first) {
  Block out;
  for (std::size_t r = 0; r < 4; ++r) out.row[r] = rows + (r < count ? r : count - 1) * n_words + first;
  return out;
}

inline void count_step(const __m512i x[4], const __m512i y[4], __m512i total[4][4]) {
  for (int p = 0; p < 4; ++p)
    for (int r = 0; r < 4; ++r)
      total[p][r] = _mm512_add_epi64(total[p][r], _mm512_popcnt_epi64(_mm512_and_si512(x[p], y[r])));
}

inline void count_block(const Block& a, const Block& b, std::size_t n_words, __m512i total[4][4]) {
  __m512i x[4], y[4];
  std::size_t w = 0;
  for (; w + 8 <= n_words; w += 8) {
    for (int r = 0; r < 4; ++r) x[r] = _mm512_loadu_si512(a.row[r] + w);
    for (int r = 0; r < 4; ++r) y[r] = _mm512_loadu_si512(b.row[r] + w);
    count_step(x, y, total);
  }
  if (w < n_words) {
    const __mmask8 mask = static_cast<__mmask8>((1u << (n_words - w)) - 1);
    for (int r = 0; r < 4; ++r) x[r] = _mm512_maskz_loadu_epi64(mask, a.row[r] + w);
    for (int r = 0; r < 4; ++r) y[r] = _mm512_maskz_loadu_epi64(mask, b.row[r] + w);
    count_step(x, y, total);
  }
}

}  // namespace

void code_counts(const std::uint64_t* a, std::size_t n_a, const std::uint64_t* b, std::size_t n_b, std::size_t n_words,
                 std::uint32_t* counts, std::size_t stride) {
  for (std::size_t first = 0; first < n_words; first += kRun) {
    const std::size_t words = n_words - first < kRun ? n_words - first : kRun;
    for (std::size_t i = 0; i < n_a; i += 4) {
      const std::size_t rows_a = n_a - i < 4 ? n_a - i : 4;
      const Block left = block(a + i * n_words, rows_a, n_words, first);
      for (std::size_t j = 0; j < n_b; j += 4) {
        const std::size_t rows_b = n_b - j < 4 ? n_b - j : 4;
        __m512i total[4][4];
        for (auto& row : total)
          for (auto& cell : row) cell = _mm512_setzero_si512();
        count_block(left, block(b + j * n_words, rows_b, n_words, first), words, total);
        for (std::size_t p = 0; p < rows_a; ++p)
          for (std::size_t r = 0; r < rows_b; ++r)
            counts[(i + p) * stride + j + r] += static_cast<std::uint32_t>(_mm512_reduce_add_epi64(total[p][r]));
      }
    }
  }
}

}  // namespace lowtide::avx512
