// decode: one packed row to feature values, out[j w + p] = book[level_j w + p]. Exact at every level: values are
// copied (float32) or widened (float64), never computed.
//
// book: (2^bits, width) float32, width 1 or 2. out: (n_levels * width,). A level cannot exceed 2^bits - 1, so the
// codebook is never read out of bounds. Tail: levels are unpacked in groups of 64 and written only up to n_levels.
#pragma once

#include "lowtide/layout.hpp"

namespace lowtide {

template <typename T>
using DecodeFn = void (*)(const std::uint64_t* row, std::size_t n_levels, unsigned bits, const float* book,
                          std::size_t width, T* out);

struct DecodeOp {
  DecodeFn<float> f32;
  DecodeFn<double> f64;
};

namespace scalar {
extern const DecodeOp decode;
}
namespace avx2 {
extern const DecodeOp decode;
}
namespace avx512 {
extern const DecodeOp decode;
}
namespace neon {
extern const DecodeOp decode;
}

}  // namespace lowtide
