// Products of a code matrix of few bits with itself, by digits of its codebook.
#pragma once

#include "lowtide/code_products.hpp"

namespace lowtide {

// Whether digits of this codebook, of up to 4 bits, lose no more than float32 sums of as many rows may: every product
// of two of its values is off by less than n_rows half units in its last place.
bool digits_suffice(const CodeMatrix& codes);

// out (F, F) = D' D, F = n_levels * width, bits 1 to 4. The codebook is rounded to 24 bits of its largest value; runs
// of 512 rows are multiplied by ops/digit_product and their sums added in order, so the bits do not depend on threads
// or instruction set. Fast where the processor multiplies tiles of bytes. Buffers: 1.2 MB a thread.
void digit_gram(const CodeMatrix& codes, float* out);

}  // namespace lowtide
