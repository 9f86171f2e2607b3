// Products of a code matrix of any width with itself, from decoded panels that never leave the caches.
#pragma once

#include "lowtide/code_products.hpp"

namespace lowtide {

// out (F, F) = D' diag(weight) D, F = n_levels * width; no weight counts as one. Runs of 128 rows are decoded for two
// tiles of columns at a time and multiplied by ops/panel_product; with `pairs`, without weight, and with a codebook of
// whole numbers times a step, runs of 256 rows by ops/pair_product. The sums of the runs are added in order, so the bits
// do not depend on threads or instruction set. Buffers: 2.6 MB a thread.
void panel_gram(const CodeMatrix& codes, const float* weight, bool pairs, float* out);

}  // namespace lowtide
