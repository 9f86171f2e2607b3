#include <cmath>

#include "lowtide/ops/features/cosine.hpp"
#include "lowtide/ops/features/features.hpp"

namespace lowtide::scalar {
namespace {

float cosine_of_turns(float u) {
  const float y = 0.25f - std::fabs(u - std::rint(u));
  const float z = y * y;
  float p = cosine::c4 * z + cosine::c3;
  p = p * z + cosine::c2;
  p = p * z + cosine::c1;
  p = p * z + cosine::c0;
  return p * y;
}

}  // namespace

void features(const float* v, std::size_t n, const float* scale, const float* offset, const FeatureRule& rule,
              std::size_t n_components, float* out) {
  for (std::size_t j = 0; j < n; ++j) {
    const float t = v[j] * scale[j] + offset[j];
    for (unsigned k = 0; k < rule.width && j * rule.width + k < n_components; ++k)
      out[j * rule.width + k] = rule.amplitude * cosine_of_turns(t + rule.shifts[k]);
  }
}

void turns(const float* v, std::size_t n, const float* scale, const float* offset, float* out) {
  for (std::size_t j = 0; j < n; ++j) {
    const float t = v[j] * scale[j] + offset[j];
    const float f = t - std::floor(t);
    out[j] = f < 1.0f ? f : 0.0f;
  }
}

void project(const float* v, std::size_t n, const float* scale, float* out) {
  for (std::size_t j = 0; j < n; ++j) out[j] = v[j] * scale[j];
}

}  // namespace lowtide::scalar
