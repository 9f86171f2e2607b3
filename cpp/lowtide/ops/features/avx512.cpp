// As avx2 on 16 lanes; pairs are interleaved with vpermt2ps. turns and project gain nothing over avx2: they wait for
// memory. Tail: the last few frequencies through a padded copy.
#include <immintrin.h>

#include <cstdint>

#include "lowtide/ops/features/cosine.hpp"
#include "lowtide/ops/features/features.hpp"

namespace lowtide::avx512 {
namespace {

constexpr std::size_t lanes = 16;

struct Tail {
  alignas(64) float v[lanes] = {}, scale[lanes] = {}, offset[lanes] = {}, out[2 * lanes];
  Tail(const float* from_v, const float* from_scale, const float* from_offset, std::size_t n) {
    for (std::size_t j = 0; j < n; ++j) v[j] = from_v[j], scale[j] = from_scale[j], offset[j] = from_offset[j];
  }
};

inline __m512 next(__m512 p, __m512 z, float c) { return _mm512_add_ps(_mm512_mul_ps(p, z), _mm512_set1_ps(c)); }

inline __m512 cosine_of_turns(__m512 u) {
  const __m512 r = _mm512_sub_ps(u, _mm512_roundscale_ps(u, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  const __m512 y = _mm512_sub_ps(_mm512_set1_ps(0.25f), _mm512_abs_ps(r));
  const __m512 z = _mm512_mul_ps(y, y);
  __m512 p = next(_mm512_set1_ps(cosine::c4), z, cosine::c3);
  p = next(next(next(p, z, cosine::c2), z, cosine::c1), z, cosine::c0);
  return _mm512_mul_ps(p, y);
}

inline __m512 feature(__m512 t, const FeatureRule& rule, unsigned k) {
  return _mm512_mul_ps(_mm512_set1_ps(rule.amplitude),
                       cosine_of_turns(_mm512_add_ps(t, _mm512_set1_ps(rule.shifts[k]))));
}

template <bool past_caches>
inline void store(float* out, __m512 values) {
  past_caches ? _mm512_stream_ps(out, values) : _mm512_storeu_ps(out, values);
}

template <bool past_caches>
inline void group(const float* v, const float* scale, const float* offset, const FeatureRule& rule, float* out) {
  const __m512 t = _mm512_add_ps(_mm512_mul_ps(_mm512_loadu_ps(v), _mm512_loadu_ps(scale)), _mm512_loadu_ps(offset));
  const __m512 a = feature(t, rule, 0);
  if (rule.width == 1) return store<past_caches>(out, a);
  const __m512 b = feature(t, rule, 1);
  const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
  store<past_caches>(out, _mm512_permutex2var_ps(a, low, b));
  store<past_caches>(out + lanes, _mm512_permutex2var_ps(a, high, b));
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

}  // namespace

void features(const float* v, std::size_t n, const float* scale, const float* offset, const FeatureRule& rule,
              std::size_t n_components, float* out) {
  if (rule.width > 2) return scalar::features(v, n, scale, offset, rule, n_components, out);
  const bool past_caches = rule.past_caches && reinterpret_cast<std::uintptr_t>(out) % sizeof(__m512) == 0;
  const std::size_t j = past_caches ? whole_groups<true>(v, scale, offset, rule, n_components, out)
                                    : whole_groups<false>(v, scale, offset, rule, n_components, out);
  if (j * rule.width >= n_components) return;
  Tail tail(v + j, scale + j, offset + j, n - j < lanes ? n - j : lanes);
  group<false>(tail.v, tail.scale, tail.offset, rule, tail.out);
  for (std::size_t i = j * rule.width; i < n_components; ++i) out[i] = tail.out[i - j * rule.width];
}

}  // namespace lowtide::avx512
