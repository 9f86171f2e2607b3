// features: projected values to float32 features; with it turns (phases) and project (scaled projections).
//
// With t = v[j] * scale[j] + offset[j] in turns, one rounding a product and one a sum, as in encode:
//     features: out[j * width + k] = amplitude * cosine(u - rint(u)), u = t + shifts[k]   (cosine: see cosine.hpp)
//     turns:    out[j] = f = t - floor(t), f = f < 1 ? f : 0                              in [0, 1)
//     project:  out[j] = v[j] * scale[j]
// All levels give the same bits. The range reduction is exact. A phase that is not finite gives NaN in features, 0 in
// turns. Tails go through a padded copy.
#pragma once

#include <cstddef>

namespace lowtide {

struct FeatureRule {
  unsigned width;
  const float* shifts;
  float amplitude;
  bool past_caches;  // for results that no cache holds; heeded where out starts at a vector
};

// out: (n_components,) floats, the first n_components <= n * width are kept.
using FeaturesFn = void (*)(const float* v, std::size_t n, const float* scale, const float* offset,
                            const FeatureRule& rule, std::size_t n_components, float* out);
// out: (n,) floats.
using TurnsFn = void (*)(const float* v, std::size_t n, const float* scale, const float* offset, float* out);
using ProjectFn = void (*)(const float* v, std::size_t n, const float* scale, float* out);

namespace scalar {
void features(const float* v, std::size_t n, const float* scale, const float* offset, const FeatureRule& rule,
              std::size_t n_components, float* out);
void turns(const float* v, std::size_t n, const float* scale, const float* offset, float* out);
void project(const float* v, std::size_t n, const float* scale, float* out);
}  // namespace scalar
namespace avx2 {
void features(const float* v, std::size_t n, const float* scale, const float* offset, const FeatureRule& rule,
              std::size_t n_components, float* out);
void turns(const float* v, std::size_t n, const float* scale, const float* offset, float* out);
void project(const float* v, std::size_t n, const float* scale, float* out);
}  // namespace avx2
namespace avx512 {
void features(const float* v, std::size_t n, const float* scale, const float* offset, const FeatureRule& rule,
              std::size_t n_components, float* out);
}
namespace neon {
void features(const float* v, std::size_t n, const float* scale, const float* offset, const FeatureRule& rule,
              std::size_t n_components, float* out);
void turns(const float* v, std::size_t n, const float* scale, const float* offset, float* out);
void project(const float* v, std::size_t n, const float* scale, float* out);
}  // namespace neon

}  // namespace lowtide
