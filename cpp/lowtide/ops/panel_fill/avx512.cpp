// vpermps looks up sixteen levels in sixteen values. Bound by the stores.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false alarms of GCC 12 inside its own header
#include <immintrin.h>

#include "lowtide/ops/bytes_x86.hpp"
#include "lowtide/ops/panel_fill/look_ups.hpp"

namespace lowtide::avx512 {
namespace {

struct V : Bytes {
  using Book = __m512;
  static Book book(const float* value) { return _mm512_loadu_ps(value); }
  static void put(Book book, Reg levels, float* to) {
    _mm512_storeu_ps(to, _mm512_permutexvar_ps(_mm512_cvtepu8_epi32(levels), book));
  }
  static void put_pairs(Book first, Book second, Reg levels, float* to) {
    const __m512i index = _mm512_cvtepu8_epi32(_mm_unpacklo_epi8(levels, levels));
    const __m512 a = _mm512_permutexvar_ps(index, first);
    _mm512_storeu_ps(to, _mm512_mask_permutexvar_ps(a, 0xAAAA, index, second));
  }
};

using Filled = panel_look_ups::LookUps<V>;

}  // namespace

const PanelFillOp panel_fill = {Filled::columns, Filled::rows};

}  // namespace lowtide::avx512
