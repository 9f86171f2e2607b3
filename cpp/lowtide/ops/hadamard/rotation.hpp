// The rotation of any number of entries over a register type V, written once for all instruction sets. V lives in an
// unnamed namespace of the including file, as in passes.hpp.
//
// A block is transformed in place: its high index bits in groups of up to 8 chunks a stride apart, then the chunks of N
// registers, or, where it is smaller than a chunk, register by register. The factors are multiplied in before, since a
// product must be rounded before it is added to.
#pragma once

#include "lowtide/ops/hadamard/passes.hpp"

namespace lowtide::hadamard_passes {

template <class V>
inline void multiply(float* v, const float* factors, std::size_t n) {
  std::size_t i = 0;
  for (; i + V::width <= n; i += V::width) V::store(v + i, V::mul(V::load(v + i), V::load(factors + i)));
  for (; i < n; ++i) v[i] *= factors[i];
}

template <class V>
inline void rotate_halves(float* v, const float* cosines, std::size_t half) {
  const float* sines = cosines + half;
  float* w = v + half;
  std::size_t i = 0;
  for (; i + V::width <= half; i += V::width) {
    const typename V::Reg a = V::load(v + i), b = V::load(w + i), c = V::load(cosines + i), s = V::load(sines + i);
    V::store(v + i, V::sub(V::mul(a, c), V::mul(b, s)));
    V::store(w + i, V::add(V::mul(a, s), V::mul(b, c)));
  }
  for (; i < half; ++i) {
    const float a = v[i], b = w[i], c = cosines[i], s = sines[i];
    v[i] = a * c - b * s;
    w[i] = a * s + b * c;
  }
}

// Strides R stride / 2, ..., stride, over n entries.
template <class V, int R>
inline void group_down(std::size_t n, std::size_t stride, float* v) {
  for (std::size_t start = 0; start < n; start += R * stride) {
    for (std::size_t i = start; i < start + stride; i += V::width) {
      typename V::Reg r[R];
      load<V, R>(r, v + i, stride);
      down<V, R, R / 2>(r);
      store<V, R>(r, v + i, stride);
    }
  }
}

// Strides N V::width / 2, ..., 1, over n entries, a multiple of N registers.
template <class V, int N>
inline void chunks_down(std::size_t n, float* v) {
  for (std::size_t i = 0; i < n; i += N * V::width) {
    typename V::Reg r[N];
    load<V, N>(r, v + i, V::width);
    down<V, N, N / 2>(r);
    lanes_down<V, N>(r);
    store<V, N>(r, v + i, V::width);
  }
}

template <class V>
inline void stages_one_by_one(float* v, std::size_t n) {
  for (std::size_t h = n / 2; h >= 1; h /= 2)
    for (std::size_t start = 0; start < n; start += 2 * h)
      for (std::size_t i = start; i < start + h; ++i) {
        const float a = v[i], b = v[i + h];
        v[i] = a + b;
        v[i + h] = a - b;
      }
}

// All strides of a block of n entries, a power of two, in place.
template <class V, int N>
inline void transform(float* v, std::size_t n) {
  constexpr std::size_t chunk = N * V::width;
  if (n < V::width) return stages_one_by_one<V>(v, n);
  if (n < chunk) {
    for (std::size_t h = n / 2; h >= V::width; h /= 2) group_down<V, 2>(n, h, v);
    return chunks_down<V, 1>(n, v);
  }
  std::size_t stride = n;
  for (; stride >= 8 * chunk; stride /= 8) group_down<V, 8>(n, stride / 8, v);
  if (stride == 4 * chunk) group_down<V, 4>(n, chunk, v);
  if (stride == 2 * chunk) group_down<V, 2>(n, chunk, v);
  chunks_down<V, N>(n, v);
}

template <class V, int N>
inline void rotation(const float* x, const float* drawn, std::size_t d, std::size_t n_rounds, float* v) {
  std::size_t size = 1;
  while (2 * size <= d) size *= 2;
  for (std::size_t i = 0; i < d; ++i) v[i] = x[i];
  for (std::size_t round = 0; round < n_rounds; ++round, drawn += 2 * d) {
    multiply<V>(v, drawn, d);
    transform<V, N>(round % 2 == 0 ? v : v + d - size, size);
    if (round + 1 < n_rounds) rotate_halves<V>(v, drawn + d, d / 2);
  }
}

}  // namespace lowtide::hadamard_passes
