// features, turns and project over a register type V, written once for all instruction sets.
#pragma once

#include <cstdint>

#include "lowtide/ops/features/features.hpp"
#include "lowtide/ops/phases.hpp"

namespace lowtide::feature_lanes {

#define LOWTIDE_INLINE [[gnu::always_inline]] inline

template <class V>
LOWTIDE_INLINE typename V::Reg feature(typename V::Reg t, const FeatureRule& rule, unsigned k) {
  return V::mul(V::all(rule.amplitude), phases::cosine_of_turns<V>(V::add(t, V::all(rule.shifts[k]))));
}

template <class V, bool PastCaches>
LOWTIDE_INLINE void store(float* out, typename V::Reg values) {
  PastCaches ? V::stream(out, values) : V::store(out, values);
}

template <class V, bool PastCaches>
LOWTIDE_INLINE void group(const float* v, const float* scale, const float* offset, const FeatureRule& rule,
                          float* out) {
  const typename V::Reg t = phases::phase<V>(v, scale, offset), a = feature<V>(t, rule, 0);
  if (rule.width == 1) return store<V, PastCaches>(out, a);
  typename V::Reg first, second;
  V::interleave(a, feature<V>(t, rule, 1), first, second);
  store<V, PastCaches>(out, first);
  store<V, PastCaches>(out + V::width, second);
}

// Returns the frequencies done.
template <class V, bool PastCaches>
std::size_t whole_groups(const float* v, const float* scale, const float* offset, const FeatureRule& rule,
                         std::size_t n_components, float* out) {
  std::size_t j = 0;
  for (; (j + V::width) * rule.width <= n_components; j += V::width)
    group<V, PastCaches>(v + j, scale + j, offset + j, rule, out + j * rule.width);
  if (PastCaches) V::fence();  // other threads see such stores in order only then
  return j;
}

template <class V>
void features(const float* v, std::size_t n, const float* scale, const float* offset, const FeatureRule& rule,
              std::size_t n_components, float* out) {
  if (rule.width > 2) return scalar::features(v, n, scale, offset, rule, n_components, out);
  const bool past_caches = rule.past_caches && reinterpret_cast<std::uintptr_t>(out) % sizeof(typename V::Reg) == 0;
  const std::size_t j = past_caches ? whole_groups<V, true>(v, scale, offset, rule, n_components, out)
                                    : whole_groups<V, false>(v, scale, offset, rule, n_components, out);
  if (j * rule.width >= n_components) return;
  const phases::Tail<V, V::width> tail(v + j, scale + j, offset + j, n - j < V::width ? n - j : V::width);
  float last[2 * V::width];
  group<V, false>(tail.v, tail.scale, tail.offset, rule, last);
  for (std::size_t i = j * rule.width; i < n_components; ++i) out[i] = last[i - j * rule.width];
}

template <class V>
void turns(const float* v, std::size_t n, const float* scale, const float* offset, float* out) {
  std::size_t j = 0;
  for (; j + V::width <= n; j += V::width)
    V::store(out + j, phases::fraction<V>(phases::phase<V>(v + j, scale + j, offset + j)));
  if (j == n) return;
  const phases::Tail<V, V::width> tail(v + j, scale + j, offset + j, n - j);
  float last[V::width];
  V::store(last, phases::fraction<V>(phases::phase<V>(tail.v, tail.scale, tail.offset)));
  for (std::size_t i = j; i < n; ++i) out[i] = last[i - j];
}

template <class V>
void project(const float* v, std::size_t n, const float* scale, float* out) {
  std::size_t j = 0;
  for (; j + V::width <= n; j += V::width) V::store(out + j, V::mul(V::load(v + j), V::load(scale + j)));
  for (; j < n; ++j) out[j] = v[j] * scale[j];
}

#undef LOWTIDE_INLINE

}  // namespace lowtide::feature_lanes
