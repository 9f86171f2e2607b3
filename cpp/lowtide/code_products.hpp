// Products of whole code matrices with dense ones: splits the work, owns the buffers, calls the ops.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lowtide {

// A packed code matrix and its codebook: D (n_rows, n_levels * width), D[i][j width + p] = book[level_ij][p].
struct CodeMatrix {
  const std::uint64_t* rows;
  std::size_t n_rows;
  std::size_t n_levels;
  unsigned bits;
  const float* book;  // (2^bits, width)
  std::size_t width;
};

// out (n_rows, n_columns) = D W, W (n_levels * width, n_columns), both row-major. bits 1, 2, 3 or 4.
template <typename T>
void code_matvec(const CodeMatrix& codes, const T* W, std::size_t n_columns, T* out);

// out (n_levels * width, n_columns) = D' R, R (n_rows, n_columns). bits 1, 2, 3 or 4. Rows are added in runs of 4096
// in order, and threads split the levels, so the result does not depend on the thread count.
template <typename T>
void code_rmatvec(const CodeMatrix& codes, const T* R, std::size_t n_columns, T* out);

}  // namespace lowtide
