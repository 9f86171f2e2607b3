// Products of 1-bit code matrices with each other, from exact counts of common ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lowtide/code_products.hpp"

namespace lowtide {

// out (F, F) = D' D, F = n_levels * width, bits 1. With N11 the rows that have both bits and N10, N01, N00 the others,
// entry ((j, p), (k, q)) = sum over a, b in {0, 1} of book[a][p] book[b][q] N_ab, in double. n_rows < 2^32.
// Buffers: the bits rearranged, at most n_levels * 65280 / 8 bytes (twice that at AVX2), and 4 bytes a pair of levels.
template <typename T>
void code_gram(const CodeMatrix& codes, T* out);

// out (a.n_rows, b.n_rows) = A B', bits 1, equal n_levels and width; the codebooks may differ. Padding bits must be 0.
// Of rows with themselves only the upper triangle is counted. Buffers: at most 5 MB a thread.
template <typename T>
void code_dot(const CodeMatrix& a, const CodeMatrix& b, T* out);

}  // namespace lowtide
