// The polynomial in z, one fmul and one fadd a power, binds; pairs are interleaved with zip1 and zip2. Tail: the last few
// frequencies through a padded copy.
#include "lowtide/ops/features/lanes.hpp"
#include "lowtide/ops/lanes_neon.hpp"

namespace lowtide::neon {

void features(const float* v, std::size_t n, const float* scale, const float* offset, const FeatureRule& rule,
              std::size_t n_components, float* out) {
  feature_lanes::features<Lanes>(v, n, scale, offset, rule, n_components, out);
}

void turns(const float* v, std::size_t n, const float* scale, const float* offset, float* out) {
  feature_lanes::turns<Lanes>(v, n, scale, offset, out);
}

void project(const float* v, std::size_t n, const float* scale, float* out) {
  feature_lanes::project<Lanes>(v, n, scale, out);
}

}  // namespace lowtide::neon
