// vpermps looks up sixteen levels in sixteen values. Bound by the stores.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false alarms of GCC 12 inside its own header
#include <immintrin.h>

#include "lowtide/ops/panel_fill/look_ups.hpp"

namespace lowtide::avx512 {
namespace {

struct V {
  using Reg = __m128i;
  static constexpr std::size_t bytes = 16;
  static Reg zip_low(Reg a, Reg b) { return _mm_unpacklo_epi8(a, b); }
  static Reg zip_high(Reg a, Reg b) { return _mm_unpackhi_epi8(a, b); }
  static Reg load(const std::uint8_t* p, bool whole) {
    return whole ? _mm_loadu_si128(reinterpret_cast<const Reg*>(p)) : _mm_loadl_epi64(reinterpret_cast<const Reg*>(p));
  }
  static Reg load_rows(const std::uint8_t* const (&row)[16], int i, std::size_t b, bool whole) {
    return load(row[i] + b, whole);
  }

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
