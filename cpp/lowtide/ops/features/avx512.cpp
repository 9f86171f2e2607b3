// As avx2 on 16 lanes; pairs are interleaved with vpermt2ps. turns and project gain nothing over avx2: they wait for
// memory. Tail: the last few frequencies through a padded copy.
#include "lowtide/ops/features/lanes.hpp"
#include "lowtide/ops/lanes_avx512.hpp"

namespace lowtide::avx512 {

void features(const float* v, std::size_t n, const float* scale, const float* offset, const FeatureRule& rule,
              std::size_t n_components, float* out) {
  feature_lanes::features<Lanes>(v, n, scale, offset, rule, n_components, out);
}

}  // namespace lowtide::avx512
