// The bits of a byte are tested in eight lanes, two registers; bsl chooses. Then one fmla a register of weights.
#include <arm_neon.h>

#include "lowtide/ops/row_product/lanes.hpp"

namespace lowtide::neon {
namespace {

struct Floats {
  using T = float;
  using Reg = float32x4_t;
  using Word = uint32x4_t;
  static constexpr std::size_t width = 4;
  static Reg load(const float* p) { return vld1q_f32(p); }
  static void store(float* p, Reg a) { vst1q_f32(p, a); }
  static Reg all(float a) { return vdupq_n_f32(a); }
  static Reg add(Reg a, Reg b) { return vaddq_f32(a, b); }
  static Reg fmadd(Reg a, Reg b, Reg c) { return vfmaq_f32(c, a, b); }
  static float sum(Reg a) { return vaddvq_f32(a); }
  // Of 64 bits the next four are the lowest of every lane.
  static Word spread(std::uint64_t word) { return vreinterpretq_u32_u64(vdupq_n_u64(word)); }
  static Word next(Word word) { return vreinterpretq_u32_u64(vshrq_n_u64(vreinterpretq_u64_u32(word), 4)); }
  static Reg choose(Word word, Reg low, Reg high) {
    const uint32x4_t lowest = vtrn1q_u32(word, word), place = {1, 2, 4, 8};
    return vbslq_f32(vtstq_u32(lowest, place), high, low);
  }
};

struct Doubles {
  using T = double;
  using Reg = float64x2_t;
  using Word = uint64x2_t;
  static constexpr std::size_t width = 2;
  static Reg load(const double* p) { return vld1q_f64(p); }
  static void store(double* p, Reg a) { vst1q_f64(p, a); }
  static Reg all(float a) { return vdupq_n_f64(a); }
  static Reg add(Reg a, Reg b) { return vaddq_f64(a, b); }
  static Reg fmadd(Reg a, Reg b, Reg c) { return vfmaq_f64(c, a, b); }
  static double sum(Reg a) { return vaddvq_f64(a); }
  static Word spread(std::uint64_t word) { return vdupq_n_u64(word); }
  static Word next(Word word) { return vshrq_n_u64(word, 2); }
  static Reg choose(Word word, Reg low, Reg high) { return vbslq_f64(vtstq_u64(word, Word{1, 2}), high, low); }
};

}  // namespace

void row_product(const RowProduct<float>& product) { row_lanes::row_product<Floats>(product, decode.f32); }
void row_product(const RowProduct<double>& product) { row_lanes::row_product<Doubles>(product, decode.f64); }

}  // namespace lowtide::neon
