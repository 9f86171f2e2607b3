// Tiles of 8 rows and 3 panels: 24 sums hide the latency of fmadd, and 11 loads go with 24 of them. Bound by the two
// multiply-add ports.
#include <immintrin.h>

#include "lowtide/ops/panel_product/tiles.hpp"

namespace lowtide::avx512 {
namespace {

struct V {
  using Element = float;
  using Reg = __m512;
  static constexpr std::size_t width = 16;
  static Reg zero() { return _mm512_setzero_ps(); }
  static Reg load(const float* p) { return _mm512_loadu_ps(p); }
  static Reg floats(Reg a) { return a; }
  static void store(float* p, Reg a) { _mm512_storeu_ps(p, a); }
  static Reg broadcast(const float* p) { return _mm512_set1_ps(*p); }
  static Reg add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
  static Reg fmadd(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
};

}  // namespace

void panel_product(const PanelProduct& product) { panel_tiles::panels<V, 8, 3>(product); }

}  // namespace lowtide::avx512
