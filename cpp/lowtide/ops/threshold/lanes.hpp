// threshold_levels and threshold_bits over a register type V, written once for all instruction sets. V adds to the
// lanes of its level how many halvings find a border in one register, and how one is picked there.
#pragma once

#include "lowtide/ops/threshold/threshold.hpp"

namespace lowtide::threshold_lanes {

#define LOWTIDE_INLINE [[gnu::always_inline]] inline

constexpr std::size_t word_levels = 64;

// The last few projections, zero past those that there are.
template <class V>
struct Tail {
  alignas(64) float v[word_levels] = {}, scale[word_levels] = {};
  Tail(const float* from_v, const float* from_scale, std::size_t n) {
    for (std::size_t j = 0; j < n; ++j) v[j] = from_v[j], scale[j] = from_scale[j];
  }
};

template <class V>
LOWTIDE_INLINE typename V::Reg normalized(const float* v, const float* scale, typename V::Reg factor) {
  return V::mul(V::mul(V::load(v), factor), V::load(scale));
}

template <class V>
LOWTIDE_INLINE typename V::Int step(typename V::Int c, typename V::Reg border, typename V::Reg magnitude, int size) {
  return V::add_where(V::less_equal(border, magnitude), c, static_cast<std::uint32_t>(size));
}

// In place of a number of halvings, for more borders than a register holds.
constexpr int by_cells = -1;

template <class V>
LOWTIDE_INLINE typename V::Int count_by_cells(typename V::Reg magnitude, const LineRule& rule) {
  const typename V::Reg last = V::all(static_cast<float>(rule.n_cells - 1));
  const typename V::Reg cell = V::mul(magnitude, V::all(rule.cells));
  // What is not a number counts as 0.
  const typename V::Reg valid = V::keep(V::is_number(cell), cell);
  typename V::Int c = V::gather(rule.start, V::truncated(V::min(valid, last)));
  for (unsigned i = 0; i < rule.most; ++i) c = step<V>(c, V::gather(rule.borders, c), magnitude, 1);
  return c;
}

template <class V, int Steps>
LOWTIDE_INLINE typename V::Int count(typename V::Reg magnitude, const LineRule& rule) {
  if constexpr (Steps == by_cells) return count_by_cells<V>(magnitude, rule);
  typename V::Int c = V::all_ints(0);
  constexpr int first = Steps > 0 ? 1 << Steps >> 1 : 0;
  if constexpr (first > 0) c = step<V>(c, V::all(rule.borders[first - 1]), magnitude, first);
#pragma GCC unroll 3
  for (int size = first >> 1; size > 0; size >>= 1) {
    const typename V::Int at = V::add_ints(c, V::all_ints(static_cast<std::uint32_t>(size - 1)));
    c = step<V>(c, V::pick(rule.borders, at), magnitude, size);
  }
  return c;
}

template <class V, int Steps>
LOWTIDE_INLINE void group(const float* v, const float* scale, typename V::Reg factor, const LineRule& rule,
                          std::uint8_t* out) {
  const typename V::Reg u = normalized<V>(v, scale, factor);
  const typename V::Int above = V::add_ints(count<V, Steps>(V::abs(u), rule), V::all_ints(rule.n_borders + 1));
  // 2 half - 1 is all ones in the bits of a level: half + c flipped is half - 1 - c.
  V::store_bytes(out, V::xor_where(V::less(u, V::all(0.0f)), above, 2 * rule.n_borders + 1));
}

template <class V, int Steps>
void groups(const float* v, std::size_t n, const float* scale, float factor, const LineRule& rule,
            std::uint8_t* levels) {
  const typename V::Reg wide = V::all(factor);
  std::size_t j = 0;
  for (; j + V::width <= n; j += V::width) group<V, Steps>(v + j, scale + j, wide, rule, levels + j);
  if (j == n) return;
  const Tail<V> tail(v + j, scale + j, n - j);
  std::uint8_t last[V::width];
  group<V, Steps>(tail.v, tail.scale, wide, rule, last);
  for (std::size_t i = j; i < n; ++i) levels[i] = last[i - j];
}

template <class V, int Steps = 0>
void threshold_levels(const float* v, std::size_t n, const float* scale, float factor, const LineRule& rule,
                      std::uint8_t* levels) {
  if constexpr (Steps > V::most_steps) {
    groups<V, by_cells>(v, n, scale, factor, rule, levels);
  } else {
    if (rule.n_steps == Steps) return groups<V, Steps>(v, n, scale, factor, rule, levels);
    threshold_levels<V, Steps + 1>(v, n, scale, factor, rule, levels);
  }
}

template <class V>
LOWTIDE_INLINE std::uint64_t word(const float* v, const float* scale, typename V::Reg factor) {
  typename V::Mask negative[word_levels / V::width];
#pragma GCC unroll 8
  for (std::size_t g = 0; g < word_levels; g += V::width)
    negative[g / V::width] = V::less(normalized<V>(v + g, scale + g, factor), V::all(0.0f));
  return ~V::word(negative);
}

template <class V>
void threshold_bits(const float* v, std::size_t n, const float* scale, float factor, std::uint64_t* row) {
  const typename V::Reg wide = V::all(factor);
  std::size_t j = 0;
  for (; j + word_levels <= n; j += word_levels) *row++ = word<V>(v + j, scale + j, wide);
  if (j == n) return;
  const Tail<V> tail(v + j, scale + j, n - j);
  *row = word<V>(tail.v, tail.scale, wide) & ((std::uint64_t{1} << (n - j)) - 1);
}

#undef LOWTIDE_INLINE

}  // namespace lowtide::threshold_lanes
