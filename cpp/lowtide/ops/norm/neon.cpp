// Eight accumulators of two float64 lanes; multiplied and added at once, as the squares are exact and either gives the
// same bits. Binds: the conversions.
#include <arm_neon.h>

#include "lowtide/ops/norm/lanes.hpp"

namespace lowtide::neon {
namespace {

struct Lanes {
  float64x2_t part[8] = {};

  void add(const float* x) {
    for (unsigned g = 0; g < 4; ++g) {
      const float32x4_t four = vld1q_f32(x + 4 * g);
      const float64x2_t low = vcvt_f64_f32(vget_low_f32(four)), high = vcvt_high_f64_f32(four);
      part[2 * g] = vfmaq_f64(part[2 * g], low, low);
      part[2 * g + 1] = vfmaq_f64(part[2 * g + 1], high, high);
    }
  }

  float root() {
    for (unsigned count = 4; count > 0; count /= 2)
      for (unsigned k = 0; k < count; ++k) part[k] = vaddq_f64(part[k], part[k + count]);
    const float64x1_t sum = vdup_n_f64(vpaddd_f64(part[0]));
    return static_cast<float>(vget_lane_f64(vsqrt_f64(sum), 0));
  }
};

}  // namespace

float norm(const float* x, std::size_t n) { return norm_lanes::norm<Lanes>(x, n); }

}  // namespace lowtide::neon
