// Products of 1-bit code matrices with wider ones, from sums of table look-ups.
#pragma once

#include "lowtide/code_products.hpp"

namespace lowtide {

// Whether bit_dot with a codebook of n_values loses no more than float32 sums of n_columns may: every value is off by
// less than n_columns half units in its last place.
bool weights_suffice(std::size_t n_columns, const float* book, std::size_t n_values);

// The product of the rows of two sides: entry (i, j) is at out[i * row + j * column].
struct DotOut {
  float* out;
  std::size_t row, column;
};

// out = A B', a.bits 1, a.width 1, b of any bits and width with as many decoded columns. The values of b's codebook are
// rounded to multiples of a power of two, at most 2^22 of them between the least and the largest; so by at most 2^-22 of
// their range, and those that are such multiples already, small integers among them, not at all. With these values the
// sums are exact and rounded once, so the bits do not depend on threads, instruction set or the other rows. Padding bits
// must be 0. Buffers: at most 3 MB a thread, or 32 bytes a level beyond 65,536 levels.
void bit_dot(const CodeMatrix& a, const CodeMatrix& b, const DotOut& to);

}  // namespace lowtide
