// A multiplication and an addition a coefficient, unfused; bound by the multiplications and additions, about 15 of
// them for 8 components. Tail: the last few frequencies through a padded copy.
#include <immintrin.h>

#include <cstdint>

#include "lowtide/ops/features/cosine.hpp"
#include "lowtide/ops/features/features.hpp"

namespace lowtide::avx2 {
namespace {

constexpr std::size_t lanes = 8;

struct Tail {
  alignas(32) float v[lanes] = {}, scale[lanes] = {}, offset[lanes] = {}, out[2 * lanes];
  Tail(const float* from_v, const float* from_scale, const float* from_offset, std::size_t n) {
    for (std::size_t j = 0; j < n; ++j) v[j] = from_v[j], scale[j] = from_scale[j], offset[j] = from_offset[j];
  }
};

inline __m256 phase(const float* v, const float* scale, const float* offset) {
  return _mm256_add_ps(_mm256_mul_ps(_mm256_loadu_ps(v), _mm256_loadu_ps(scale)), _mm256_loadu_ps(offset));
}

inline __m256 next(__m256 p, __m256 z, float c) { return _mm256_add_ps(_mm256_mul_ps(p, z), _mm256_set1_ps(c)); }

inline __m256 cosine_of_turns(__m256 u) {
  const __m256 r = _mm256_sub_ps(u, _mm256_round_ps(u, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  const __m256 y = _mm256_sub_ps(_mm256_set1_ps(0.25f), _mm256_andnot_ps(_mm256_set1_ps(-0.0f), r));
  const __m256 z = _mm256_mul_ps(y, y);
  __m256 p = next(_mm256_set1_ps(cosine::c4), z, cosine::c3);
  p = next(next(next(p, z, cosine::c2), z, cosine::c1), z, cosine::c0);
  return _mm256_mul_ps(p, y);
}

inline __m256 feature(__m256 t, const FeatureRule& rule, unsigned k) {
  return _mm256_mul_ps(_mm256_set1_ps(rule.amplitude),
                       cosine_of_turns(_mm256_add_ps(t, _mm256_set1_ps(rule.shifts[k]))));
}

template <bool past_caches>
inline void store(float* out, __m256 values) {
  past_caches ? _mm256_stream_ps(out, values) : _mm256_storeu_ps(out, values);
}

template <bool past_caches>
inline void group(const float* v, const float* scale, const float* offset, const FeatureRule& rule, float* out) {
  const __m256 t = phase(v, scale, offset);
  const __m256 a = feature(t, rule, 0);
  if (rule.width == 1) return store<past_caches>(out, a);
  const __m256 b = feature(t, rule, 1);
  const __m256 low = _mm256_unpacklo_ps(a, b), high = _mm256_unpackhi_ps(a, b);
  store<past_caches>(out, _mm256_permute2f128_ps(low, high, 0x20));
  store<past_caches>(out + lanes, _mm256_permute2f128_ps(low, high, 0x31));
}

// Returns the frequencies done.
template <bool past_caches>
std::size_t whole_groups(const float* v, const float* scale, const float* offset, const FeatureRule& rule,
                         std::size_t n_components, float* out) {
  std::size_t j = 0;
  for (; (j + lanes) * rule.width <= n_components; j += lanes)
    group<past_caches>(v + j, scale + j, offset + j, rule, out + j * rule.width);
  if (past_caches) _mm_sfence();  // other threads see such stores in order only then
  return j;
}

inline __m256 fraction(__m256 t) {
  const __m256 f = _mm256_sub_ps(t, _mm256_floor_ps(t));
  return _mm256_and_ps(f, _mm256_cmp_ps(f, _mm256_set1_ps(1.0f), _CMP_LT_OQ));
}

}  // namespace

void features(const float* v, std::size_t n, const float* scale, const float* offset, const FeatureRule& rule,
              std::size_t n_components, float* out) {
  if (rule.width > 2) return scalar::features(v, n, scale, offset, rule, n_components, out);
  const bool past_caches = rule.past_caches && reinterpret_cast<std::uintptr_t>(out) % sizeof(__m256) == 0;
  const std::size_t j = past_caches ? whole_groups<true>(v, scale, offset, rule, n_components, out)
                                    : whole_groups<false>(v, scale, offset, rule, n_components, out);
  if (j * rule.width >= n_components) return;
  Tail tail(v + j, scale + j, offset + j, n - j < lanes ? n - j : lanes);
  group<false>(tail.v, tail.scale, tail.offset, rule, tail.out);
  for (std::size_t i = j * rule.width; i < n_components; ++i) out[i] = tail.out[i - j * rule.width];
}

void turns(const float* v, std::size_t n, const float* scale, const float* offset, float* out) {
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes) _mm256_storeu_ps(out + j, fraction(phase(v + j, scale + j, offset + j)));
  if (j == n) return;
  Tail tail(v + j, scale + j, offset + j, n - j);
  _mm256_store_ps(tail.out, fraction(phase(tail.v, tail.scale, tail.offset)));
  for (std::size_t i = j; i < n; ++i) out[i] = tail.out[i - j];
}

void project(const float* v, std::size_t n, const float* scale, float* out) {
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes)
    _mm256_storeu_ps(out + j, _mm256_mul_ps(_mm256_loadu_ps(v + j), _mm256_loadu_ps(scale + j)));
  for (; j < n; ++j) out[j] = v[j] * scale[j];
}

}  // namespace lowtide::avx2
