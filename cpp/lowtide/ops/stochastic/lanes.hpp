// encode_stochastic over a register type V, written once for all instruction sets.
#pragma once

#include "lowtide/ops/phases.hpp"
#include "lowtide/ops/stochastic/stochastic.hpp"

namespace lowtide::stochastic_lanes {

#define LOWTIDE_INLINE [[gnu::always_inline]] inline

template <class V>
LOWTIDE_INLINE typename V::Int mix(typename V::Int h) {
  h = V::mul_ints(V::xor_ints(h, V::template shift_right<16>(h)), V::all_ints(0x85ebca6bu));
  h = V::mul_ints(V::xor_ints(h, V::template shift_right<13>(h)), V::all_ints(0xc2b2ae35u));
  return V::xor_ints(h, V::template shift_right<16>(h));
}

template <class V>
LOWTIDE_INLINE typename V::Reg random_fraction(std::uint64_t seed, typename V::Int component, typename V::Reg f) {
  const typename V::Int low = V::all_ints(static_cast<std::uint32_t>(seed)),
                        high = V::all_ints(static_cast<std::uint32_t>(seed >> 32));
  const typename V::Int key = mix<V>(V::add_ints(mix<V>(V::xor_ints(component, low)), high));
  const typename V::Int hash = mix<V>(V::xor_ints(key, V::bits_of(f)));
  return V::fractions(V::template shift_right<8>(hash));
}

template <class V>
LOWTIDE_INLINE typename V::Int level(typename V::Reg u, typename V::Int component, const StochasticRule& rule) {
  const float top = static_cast<float>((1u << rule.bits) - 1);
  const typename V::Reg f = phases::fraction<V>(u);
  const typename V::Reg above = V::add(phases::cosine_of_turns<V>(f), V::all(1.0f));
  const typename V::Reg place = V::add(V::mul(above, V::all(0.5f * top)), random_fraction<V>(rule.seed, component, f));
  return V::floor_within(place, top);
}

template <class V>
LOWTIDE_INLINE void group(const float* v, const float* scale, const float* offset, const StochasticRule& rule,
                          std::uint32_t first, std::uint8_t* out) {
  const typename V::Reg t = phases::phase<V>(v, scale, offset);
  const typename V::Int step = V::mul_ints(V::ramp(), V::all_ints(rule.width));
  const typename V::Int component = V::add_ints(V::all_ints(first), step);
  const typename V::Int one = level<V>(V::add(t, V::all(rule.shifts[0])), component, rule);
  if (rule.width == 1) return V::store_bytes(out, one);
  const typename V::Int second = V::add_ints(component, V::all_ints(1));
  const typename V::Int other = level<V>(V::add(t, V::all(rule.shifts[1])), second, rule);
  V::store_pairs(out, V::or_ints(one, V::template shift_left<8>(other)));
}

template <class V>
void encode_stochastic(const float* v, std::size_t n, const float* scale, const float* offset,
                       const StochasticRule& rule, std::uint32_t first, std::uint8_t* levels) {
  if (rule.width > 2) return scalar::encode_stochastic(v, n, scale, offset, rule, first, levels);
  std::size_t j = 0;
  for (; j + V::width <= n; j += V::width) {
    const std::size_t component = j * rule.width;
    group<V>(v + j, scale + j, offset + j, rule, first + static_cast<std::uint32_t>(component), levels + component);
  }
  if (j == n) return;
  const phases::Tail<V, V::width> tail(v + j, scale + j, offset + j, n - j);
  std::uint8_t last[2 * V::width];
  group<V>(tail.v, tail.scale, tail.offset, rule, first + static_cast<std::uint32_t>(j * rule.width), last);
  for (std::size_t i = 0; i < (n - j) * rule.width; ++i) levels[j * rule.width + i] = last[i];
}

#undef LOWTIDE_INLINE

}  // namespace lowtide::stochastic_lanes
