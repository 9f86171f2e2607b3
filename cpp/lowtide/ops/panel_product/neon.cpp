// Tiles of 6 rows and one panel, four registers: 24 sums of 32 registers, which hide the latency of fmla. Binds: the
// multiply-add pipes.
#include <arm_neon.h>

#include "lowtide/ops/panel_product/tiles.hpp"

namespace lowtide::neon {
namespace {

struct V {
  using Element = float;
  using Reg = float32x4_t;
  static constexpr std::size_t width = 4;
  static Reg zero() { return vdupq_n_f32(0.0f); }
  static Reg load(const float* p) { return vld1q_f32(p); }
  static Reg floats(Reg a) { return a; }
  static void store(float* p, Reg a) { vst1q_f32(p, a); }
  static Reg broadcast(const float* p) { return vld1q_dup_f32(p); }
  static Reg add(Reg a, Reg b) { return vaddq_f32(a, b); }
  static Reg fmadd(Reg a, Reg b, Reg c) { return vfmaq_f32(c, a, b); }
};

}  // namespace

void panel_product(const PanelProduct& product) { panel_tiles::panels<V, 6, 1>(product); }

}  // namespace lowtide::neon
