// The transposed projection: values of frequencies back to rows.
#pragma once

#include <cstddef>

namespace lowtide {

// n rows of n_frequencies values, row i at values + i * row_stride (which may be negative); scale: (n_frequencies,);
// blocks: (n_blocks, 3, dim) as in ops/hadamard, enough for the frequencies; out: (n, n_features), n_features <= dim.
struct PullBack {
  const float* values;
  std::ptrdiff_t row_stride;
  std::size_t n;
  std::size_t n_frequencies;
  const float* scale;
  const float* blocks;
  std::size_t dim;
  std::size_t n_features;
  float* out;
};

// Writes, for every row v, the first n_features entries of B' (scale * v), B the blocks one below the other and only
// their first n_frequencies rows. Rows are spread over threads; the bits of one depend on nothing but itself. What
// leaves float32 is infinite or NaN in out.
void pull_back(const PullBack& task);

}  // namespace lowtide
