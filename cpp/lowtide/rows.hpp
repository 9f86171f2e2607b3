// Walks rows through the projection, a slice of frequencies at a time: the one driver of every op that starts from
// rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace lowtide {

// n rows of n_features floats, row i at x + i * row_stride (which may be negative). The projected values are, with
// blocks, (n_blocks, 3, dim) as in ops/hadamard, its first n_frequencies outputs, and n_features <= dim; with panels,
// (ceil(n_frequencies / 16), n_features, 16) as in ops/panel_product, the product; with rotations, (n_blocks,
// 2 n_rounds - 1, n_features) as in ops/hadamard, the first n_frequencies of their outputs one after the other; with none
// of them, the row itself, and n_features = n_frequencies.
//
// Blocks may come with factors, (n_features,), by which the entries of a row are multiplied first, each product rounded
// to float32; and with places, (n_frequencies,), which rise and are below n_blocks * dim: then the values are the
// outputs at these places, and blocks without one are not run.
struct Rows {
  const float* x;
  std::ptrdiff_t row_stride;
  std::size_t n;
  std::size_t n_features;
  const float* blocks;
  std::size_t n_blocks;
  std::size_t dim;
  std::size_t n_frequencies;
  const float* panels;
  const float* factors;
  const std::uint32_t* places;
  const float* rotations = nullptr;
  std::size_t n_rounds = 0;
};

// v holds the projected values of frequencies first .. first + count - 1 of one row; levels has room for `count`
// frequencies of max_width bytes. `first` is a multiple of 64, so a slice of packed levels starts at a whole word.
struct Slice {
  std::size_t row;
  std::size_t first;
  std::size_t count;
  const float* v;
  unsigned char* levels;
};

// Calls visit on every slice of every row, rows spread over threads. Work space is made once a thread and stays within
// the first-level cache, with places within the second-level one; the slices of a row never depend on the batch. Throws std::overflow_error for a row whose
// transform leaves the range of float32, and for one with an entry that is not finite, unless it is projected already.
void for_each_slice(const Rows& rows, const std::function<void(const Slice&)>& visit);

}  // namespace lowtide
