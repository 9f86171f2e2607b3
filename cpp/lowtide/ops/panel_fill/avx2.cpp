// vpermps looks up eight levels in eight values: two of them and a blend by the fourth bit do a codebook of sixteen. Some
// 14 instructions for 16 values, bound by the shuffles.
#include <immintrin.h>

#include "lowtide/ops/bytes_x86.hpp"
#include "lowtide/ops/panel_fill/look_ups.hpp"

namespace lowtide::avx2 {
namespace {

struct V : Bytes {
  struct Book {
    __m256 low, high;
  };
  static Book book(const float* value) { return {_mm256_loadu_ps(value), _mm256_loadu_ps(value + 8)}; }

  // Of the lower eight levels.
  static __m256 values(const Book& book, Reg levels) {
    const __m256i index = _mm256_cvtepu8_epi32(levels);
    const __m256 upper = _mm256_castsi256_ps(_mm256_slli_epi32(index, 28));
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(book.low, index), _mm256_permutevar8x32_ps(book.high, index),
                            upper);
  }
  static void put(const Book& book, Reg levels, float* to) {
    _mm256_storeu_ps(to, values(book, levels));
    _mm256_storeu_ps(to + 8, values(book, _mm_srli_si128(levels, 8)));
  }
  static void put_pairs(const Book& first, const Book& second, Reg levels, float* to) {
    const __m256 a = values(first, levels), b = values(second, levels);
    const __m256 low = _mm256_unpacklo_ps(a, b), high = _mm256_unpackhi_ps(a, b);
    _mm256_storeu_ps(to, _mm256_permute2f128_ps(low, high, 0x20));
    _mm256_storeu_ps(to + 8, _mm256_permute2f128_ps(low, high, 0x31));
  }
};

using Filled = panel_look_ups::LookUps<V>;

}  // namespace

const PanelFillOp panel_fill = {Filled::columns, Filled::rows};

}  // namespace lowtide::avx2
