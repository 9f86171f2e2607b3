// The loop of norm over sixteen float64 sums in registers, V, written once for all instruction sets. V lives in an
// unnamed namespace of the including file, so every instance is that file's own:
//   V{}         zeros
//   add(x)      adds the squares of sixteen entries
//   root()      the root of all sums, added as norm.hpp says
// Tail: the last few entries through a padded copy.
#pragma once

#include "lowtide/ops/norm/norm.hpp"

namespace lowtide::norm_lanes {

template <class V>
float norm(const float* x, std::size_t n) {
  V lanes;
  std::size_t j = 0;
  for (; j + 16 <= n; j += 16) lanes.add(x + j);
  if (j < n) {
    float last[16] = {};
    for (std::size_t i = j; i < n; ++i) last[i - j] = x[i];
    lanes.add(last);
  }
  return lanes.root();
}

}  // namespace lowtide::norm_lanes
