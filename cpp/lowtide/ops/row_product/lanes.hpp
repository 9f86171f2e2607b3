// row_product over a register type V, written once for all instruction sets.
//
// A chunk of the row is decoded into the first-level cache, one bit by choosing between two registers, anything else by
// the decode op that is given; then each group of columns passes over it. V lives in an unnamed namespace of the including
// file, so every instance is that file's own. Binds: the weights, which come from the second-level cache.
#pragma once

#include "lowtide/ops/decode/decode.hpp"
#include "lowtide/ops/row_product/row_product.hpp"

namespace lowtide::row_lanes {

#define LOWTIDE_INLINE [[gnu::always_inline]] inline

constexpr std::size_t chunk_values = 1024;

// Whole words of one-bit levels, 64 values each.
template <class V>
LOWTIDE_INLINE void choose_values(const std::uint64_t* words, std::size_t n_levels, const float* book,
                                  typename V::T* values) {
  const typename V::Reg low = V::all(book[0]), high = V::all(book[1]);
  for (std::size_t j = 0; j < n_levels; j += 64) {
    typename V::Word word = V::spread(words[j / 64]);
#pragma GCC unroll 16
    for (std::size_t g = 0; g < 64; g += V::width, word = V::next(word))
      V::store(values + j + g, V::choose(word, low, high));
  }
}

// Adds the products of n values with K columns; eight sums side by side hide the latency of an addition.
template <class V, int K>
LOWTIDE_INLINE void add_columns(const typename V::T* values, std::size_t n, const typename V::T* columns,
                                std::size_t stride, typename V::T* out) {
  constexpr int sums = 8 / K;
  typename V::Reg total[K][sums];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) total[i / sums][i % sums] = V::all(0.0f);
  std::size_t f = 0;
  for (; f + sums * V::width <= n; f += sums * V::width) {
#pragma GCC unroll 8
    for (int s = 0; s < sums; ++s) {
      const std::size_t at = f + s * V::width;
      const typename V::Reg value = V::load(values + at);
#pragma GCC unroll 4
      for (int k = 0; k < K; ++k) total[k][s] = V::fmadd(value, V::load(columns + k * stride + at), total[k][s]);
    }
  }
#pragma GCC unroll 4
  for (int k = 0; k < K; ++k) {
#pragma GCC unroll 8
    for (int s = 1; s < sums; ++s) total[k][0] = V::add(total[k][0], total[k][s]);
    typename V::T sum = V::sum(total[k][0]);
    for (std::size_t i = f; i < n; ++i) sum += values[i] * columns[k * stride + i];
    out[k] += sum;
  }
}

template <class V>
void row_product(const RowProduct<typename V::T>& p, DecodeFn<typename V::T> decode) {
  alignas(64) typename V::T values[chunk_values];
  for (std::size_t k = 0; k < p.n_columns; ++k) p.out[k] = 0;
  const std::size_t step = chunk_values / p.width;
  for (std::size_t first = 0; first < p.n_levels; first += step) {
    const std::size_t n_levels = p.n_levels - first < step ? p.n_levels - first : step;
    const std::uint64_t* words = p.row + first / 64 * p.bits;
    if (p.bits == 1 && p.width == 1)
      choose_values<V>(words, n_levels, p.book, values);
    else
      decode(words, n_levels, p.bits, p.book, p.width, values);
    const std::size_t n = n_levels * p.width;
    const typename V::T* columns = p.columns + first * p.width;
    std::size_t k = 0;
    for (; k + 4 <= p.n_columns; k += 4) add_columns<V, 4>(values, n, columns + k * p.stride, p.stride, p.out + k);
    if (k + 2 <= p.n_columns) add_columns<V, 2>(values, n, columns + k * p.stride, p.stride, p.out + k), k += 2;
    if (k < p.n_columns) add_columns<V, 1>(values, n, columns + k * p.stride, p.stride, p.out + k);
  }
}

#undef LOWTIDE_INLINE

}  // namespace lowtide::row_lanes
