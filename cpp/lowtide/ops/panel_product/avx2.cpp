// Tiles of 6 rows and one panel, two registers: 12 sums of 16 registers, which hide the latency of fmadd. Bound by the
// two multiply-add ports.
#include <immintrin.h>

#include "lowtide/ops/panel_product/tiles.hpp"

namespace lowtide::avx2 {
namespace {

struct V {
  using Element = float;
  using Reg = __m256;
  static constexpr std::size_t width = 8;
  static Reg zero() { return _mm256_setzero_ps(); }
  static Reg load(const float* p) { return _mm256_loadu_ps(p); }
  static Reg floats(Reg a) { return a; }
  static void store(float* p, Reg a) { _mm256_storeu_ps(p, a); }
  static Reg broadcast(const float* p) { return _mm256_broadcast_ss(p); }
  static Reg add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
  static Reg fmadd(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
};

}  // namespace

void panel_product(const PanelProduct& product) { panel_tiles::panels<V, 6, 1>(product); }

}  // namespace lowtide::avx2
