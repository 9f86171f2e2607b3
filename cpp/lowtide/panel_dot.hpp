// Products of code matrices of any widths with each other, from decoded panels that never leave the caches.
#pragma once

#include "lowtide/code_products.hpp"

namespace lowtide {

// out (a.n_rows, b.n_rows) = A diag(weight) B', with equally many decoded columns; bits and codebooks may differ. No
// weight counts as one. Runs of 256 columns are decoded for a strip of rows of either side and multiplied by
// ops/panel_product; with `pairs`, without weight, and with codebooks of whole numbers times a step, runs of 512 by
// ops/pair_product. The sums of the runs are added in order, so the bits do not depend on threads or instruction set.
// Of a matrix with itself, without weight, only the upper triangle is made. Buffers: 4.5 MB a thread.
void panel_dot(const CodeMatrix& a, const CodeMatrix& b, const float* weight, bool pairs, float* out);

}  // namespace lowtide
