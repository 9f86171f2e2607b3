// What the ops on phases share, over a register type V: t = v scale + offset in turns, its fraction, its cosine, and the
// padded copy through which the last few frequencies go.
//
// Every template here depends on V, which lives in an unnamed namespace of the including file: so every instance is that
// file's own, and code of one level never stands in for another's.
#pragma once

#include <cstddef>

#include "lowtide/ops/features/cosine.hpp"

namespace lowtide::phases {

#define LOWTIDE_INLINE [[gnu::always_inline]] inline

// N frequencies, zero past those that there are.
template <class V, std::size_t N>
struct Tail {
  alignas(64) float v[N] = {}, scale[N] = {}, offset[N] = {};
  Tail(const float* from_v, const float* from_scale, const float* from_offset, std::size_t n) {
    for (std::size_t j = 0; j < n; ++j) v[j] = from_v[j], scale[j] = from_scale[j], offset[j] = from_offset[j];
  }
};

template <class V>
LOWTIDE_INLINE typename V::Reg phase(const float* v, const float* scale, const float* offset) {
  return V::add(V::mul(V::load(v), V::load(scale)), V::load(offset));
}

// In [0, 1); 0 for what is not finite.
template <class V>
LOWTIDE_INLINE typename V::Reg fraction(typename V::Reg u) {
  const typename V::Reg f = V::sub(u, V::floor(u));
  return V::keep(V::less(f, V::all(1.0f)), f);
}

template <class V>
LOWTIDE_INLINE typename V::Reg next_power(typename V::Reg p, typename V::Reg z, float c) {
  return V::add(V::mul(p, z), V::all(c));
}

// cosine.hpp of u - rint(u), one operation after the other, none fused.
template <class V>
LOWTIDE_INLINE typename V::Reg cosine_of_turns(typename V::Reg u) {
  const typename V::Reg y = V::sub(V::all(0.25f), V::abs(V::sub(u, V::rint(u))));
  const typename V::Reg z = V::mul(y, y);
  typename V::Reg p = next_power<V>(V::all(cosine::c4), z, cosine::c3);
  p = next_power<V>(next_power<V>(next_power<V>(p, z, cosine::c2), z, cosine::c1), z, cosine::c0);
  return V::mul(p, y);
}

#undef LOWTIDE_INLINE

}  // namespace lowtide::phases
