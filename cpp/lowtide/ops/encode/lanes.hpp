// encode_levels and encode_bits over a register type V, written once for all instruction sets. V adds to the lanes of
// its level:
//     even_fraction(u)            f of an even rule
//     search<Even, Steps>(f, r)   the levels of f, with 2^Steps - 1 borders and their table in registers
//     pick(table, at)             entries of a table of 16
//     word<Width, Quarter>(...)   64 levels of one bit, 1 where f is beyond the border
// Quarter: the border is a quarter of a turn and the first shift 0. |u - rint(u)| <= 1/4 says that rint(2 u) is even, ties
// to even included, so no fraction is needed; 2 u = 2 t + 2 shift exactly, and where it is not finite or too large to be
// an integer, it converts to an even one and u counts as f = 0.
#pragma once

#include "lowtide/ops/encode/encode.hpp"
#include "lowtide/ops/phases.hpp"

namespace lowtide::encode_lanes {

#define LOWTIDE_INLINE [[gnu::always_inline]] inline

// How levels are found: a number of halvings with borders and table in registers, or one of these.
constexpr int by_equal_borders = 0, by_gathers = -1;

// c, plus size where the border is passed.
template <class V, bool Even>
LOWTIDE_INLINE typename V::Int step(typename V::Int c, typename V::Reg border, typename V::Reg f, int size) {
  const typename V::Mask passed = Even ? V::less(border, f) : V::less_equal(border, f);
  return V::add_where(passed, c, static_cast<std::uint32_t>(size));
}

template <class V, bool Even, int How>
LOWTIDE_INLINE typename V::Int level(typename V::Reg u, const LevelRule& rule) {
  const typename V::Reg f = Even ? V::even_fraction(u) : phases::fraction<V>(u);
  if constexpr (How > 0) return V::template search<Even, How>(f, rule);
  typename V::Int c = V::all_ints(0);
  if (How == by_equal_borders) {
    c = V::truncated(V::mul(f, V::all(static_cast<float>(1u << rule.n_steps))));
    if (rule.n_steps <= 4) return V::pick(rule.table, c);
  } else {
    for (int size = 1 << rule.n_steps >> 1; size > 0; size >>= 1) {
      const typename V::Int at = V::add_ints(c, V::all_ints(static_cast<std::uint32_t>(size - 1)));
      c = step<V, Even>(c, V::gather(rule.borders, at), f, size);
    }
  }
  return V::gather(rule.table, c);
}

template <class V, bool Even, int How>
LOWTIDE_INLINE void group(const float* v, const float* scale, const float* offset, const LevelRule& rule,
                          std::uint8_t* out) {
  const typename V::Reg t = phases::phase<V>(v, scale, offset);
  const typename V::Int first = level<V, Even, How>(V::add(t, V::all(rule.shifts[0])), rule);
  if (rule.width == 1) return V::store_bytes(out, first);
  const typename V::Int second = level<V, Even, How>(V::add(t, V::all(rule.shifts[1])), rule);
  V::store_pairs(out, V::or_ints(first, V::template shift_left<8>(second)));
}

template <class V, bool Even, int How>
void groups(const float* v, std::size_t n, const float* scale, const float* offset, const LevelRule& rule,
            std::uint8_t* levels) {
  std::size_t j = 0;
  for (; j + V::width <= n; j += V::width)
    group<V, Even, How>(v + j, scale + j, offset + j, rule, levels + j * rule.width);
  if (j == n) return;
  const phases::Tail<V, V::width> tail(v + j, scale + j, offset + j, n - j);
  std::uint8_t last[2 * V::width];
  group<V, Even, How>(tail.v, tail.scale, tail.offset, rule, last);
  for (std::size_t i = 0; i < (n - j) * rule.width; ++i) levels[j * rule.width + i] = last[i];
}

template <class V, bool Even>
void by_steps(const float* v, std::size_t n, const float* scale, const float* offset, const LevelRule& rule,
              std::uint8_t* levels) {
  if (rule.n_steps <= 2) return groups<V, Even, 2>(v, n, scale, offset, rule, levels);
  if (rule.n_steps == 3) return groups<V, Even, 3>(v, n, scale, offset, rule, levels);
  if (rule.n_steps == 4) return groups<V, Even, 4>(v, n, scale, offset, rule, levels);
  groups<V, Even, by_gathers>(v, n, scale, offset, rule, levels);
}

template <class V>
void encode_levels(const float* v, std::size_t n, const float* scale, const float* offset, const LevelRule& rule,
                   std::uint8_t* levels) {
  if (rule.width > 2) return scalar::encode_levels(v, n, scale, offset, rule, levels);
  if (rule.equal) return groups<V, false, by_equal_borders>(v, n, scale, offset, rule, levels);
  if (rule.even) return by_steps<V, true>(v, n, scale, offset, rule, levels);
  by_steps<V, false>(v, n, scale, offset, rule, levels);
}

// One word: 64 frequencies of width 1, or 32 of width 2.
template <class V, unsigned Width, bool Quarter>
void words(const float* v, std::size_t n, const float* scale, const float* offset, const BitRule& rule,
           std::size_t n_levels, std::uint64_t* row) {
  constexpr std::size_t per_word = 64 / Width;
  const std::uint64_t flip = rule.flip ? 0 : ~std::uint64_t{0};
  std::size_t j = 0;
  for (; (j + per_word) * Width <= n_levels; j += per_word)
    *row++ = V::template word<Width, Quarter>(v + j, scale + j, offset + j, rule) ^ flip;
  if (j * Width >= n_levels) return;
  const std::size_t rest = n - j < per_word ? n - j : per_word;
  const phases::Tail<V, per_word> tail(v + j, scale + j, offset + j, rest);
  const std::uint64_t last = V::template word<Width, Quarter>(tail.v, tail.scale, tail.offset, rule) ^ flip;
  *row = last & ((std::uint64_t{1} << (n_levels - j * Width)) - 1);
}

template <class V, unsigned Width>
void words_of_width(const float* v, std::size_t n, const float* scale, const float* offset, const BitRule& rule,
                    std::size_t n_levels, std::uint64_t* row) {
  if (rule.border == 0.25f && rule.shifts[0] == 0.0f)
    return words<V, Width, true>(v, n, scale, offset, rule, n_levels, row);
  words<V, Width, false>(v, n, scale, offset, rule, n_levels, row);
}

template <class V>
void encode_bits(const float* v, std::size_t n, const float* scale, const float* offset, const BitRule& rule,
                 std::size_t n_levels, std::uint64_t* row) {
  if (rule.width == 1) return words_of_width<V, 1>(v, n, scale, offset, rule, n_levels, row);
  words_of_width<V, 2>(v, n, scale, offset, rule, n_levels, row);
}

#undef LOWTIDE_INLINE

}  // namespace lowtide::encode_lanes
