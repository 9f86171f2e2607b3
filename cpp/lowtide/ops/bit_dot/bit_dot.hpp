// bit_dot: sums of a row of weights over the one bits of packed 1-bit rows, sums[i] += sum over k of bit_ik weight_k.
// Exact: weights are integers below 2^22, given as floats, and sums are doubles, which hold integers below 2^53.
//
// Works on panels of up to kDotRows 1-bit rows, and on a row of weights as tables, both over a run of up to kBitRun words
// of 64 bits, in the level's own order:
//   bits_bytes(n_words), weights_bytes(n_words)      how much there is to allocate, multiples of 64
//   prepare_bits(rows, n_rows, stride, n_words)      writes a panel; rows are `stride` words apart, n_rows from 1 to
//                                                    kDotRows
//   prepare_weights(weights, n_words)                writes the tables of 64 n_words weights
//   multiply(bits, weights, n_words, n_rows, sums)   adds to kDotRows sums, of which those past n_rows are anything
// Overflow limit: 64 kBitRun weights below 2^22 add up to less than 2^32, so a run is summed in 32 bits. Four bits of a
// row pick one of the 16 sums of four weights: below 2^24, three digits of a byte or four of six bits. Tail: none; weights
// past the last one are 0, whatever the bits.
#pragma once

#include "lowtide/ops/code_dot/code_dot.hpp"

namespace lowtide {

constexpr std::size_t kBitRun = 16;
constexpr unsigned kWeightBits = 22;

struct BitDotOp {
  std::size_t (*bits_bytes)(std::size_t n_words);
  std::size_t (*weights_bytes)(std::size_t n_words);
  void (*prepare_bits)(const std::uint64_t* rows, std::size_t n_rows, std::size_t stride, std::size_t n_words,
                       void* bits);
  void (*prepare_weights)(const float* weights, std::size_t n_words, void* tables);
  void (*multiply)(const void* bits, const void* tables, std::size_t n_words, std::size_t n_rows, double* sums);
};

namespace scalar {
extern const BitDotOp bit_dot;
}
namespace avx2 {
extern const BitDotOp bit_dot;
}
namespace vbmi {
extern const BitDotOp bit_dot;
}
namespace neon {
extern const BitDotOp bit_dot;
}
namespace dotprod {
extern const BitDotOp bit_dot;
}

}  // namespace lowtide
