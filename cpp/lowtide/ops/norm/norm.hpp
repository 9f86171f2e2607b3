// norm: the Euclidean length of a row.
//
// Squares are exact in float64 and are summed in 16 lanes, entry j in lane j % 16, one rounding a sum; then the upper
// half of the lanes is added to the lower one, 16 to 8 to 4 to 2 to 1. The root is rounded to float32. All levels of
// instructions give the same bits, whatever the batch.
#pragma once

#include <cstddef>

namespace lowtide {

using NormFn = float (*)(const float* x, std::size_t n);

namespace scalar {
float norm(const float* x, std::size_t n);
}
namespace avx2 {
float norm(const float* x, std::size_t n);
}
namespace neon {
float norm(const float* x, std::size_t n);
}

}  // namespace lowtide
