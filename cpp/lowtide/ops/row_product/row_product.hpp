// row_product: the product of one packed row with columns of weights, out[k] = sum_f D[f] columns[k * stride + f], with
// D[j w + p] = book[level_j w + p] the decoded row of n_levels * w values.
//
// For rows that come one by one: nothing is made of the weights beforehand, and each is read once. book: (2^bits, width)
// float32, width 1 or 2. columns: n_columns of n_levels * width weights each, contiguous, starts `stride` apart. out:
// (n_columns,), written whole. Sums are in an order of each level's own, so levels agree to rounding: a sum passes
// through at most n_levels * width roundings of T. Tail: levels are decoded in chunks of whole words, and weights past
// the last whole register are multiplied one by one.
#pragma once

#include "lowtide/layout.hpp"

namespace lowtide {

template <typename T>
struct RowProduct {
  const std::uint64_t* row;
  std::size_t n_levels;
  unsigned bits;
  const float* book;
  std::size_t width;
  const T* columns;
  std::size_t stride;
  std::size_t n_columns;
  T* out;
};

template <typename T>
using RowProductFn = void (*)(const RowProduct<T>& product);

namespace scalar {
void row_product(const RowProduct<float>& product);
void row_product(const RowProduct<double>& product);
}  // namespace scalar
namespace avx2 {
void row_product(const RowProduct<float>& product);
void row_product(const RowProduct<double>& product);
}  // namespace avx2
namespace avx512 {
void row_product(const RowProduct<float>& product);
void row_product(const RowProduct<double>& product);
}  // namespace avx512
namespace neon {
void row_product(const RowProduct<float>& product);
void row_product(const RowProduct<double>& product);
}  // namespace neon

}  // namespace lowtide
