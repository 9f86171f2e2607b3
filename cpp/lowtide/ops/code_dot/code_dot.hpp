// code_dot: counts of common one bits of packed 1-bit rows, sums[i][j] += popcount(a_i AND b_j); code_ones: those of
// one row. Exact.
//
// Works on panels of up to kDotRows rows over a run of up to run_words words each, in the level's own order, made once
// and read by several products:
//   panel_bytes(n_words)                       how much there is to allocate, a multiple of 64
//   prepare(rows, n_rows, stride, n_words)     writes a panel; rows are `stride` words apart, n_rows from 1 to kDotRows
//   multiply(tile)                             adds the products of two panels to sums, int32, rows kDotRows apart; the left
//                                              side may be up to left_panels whole panels, left_bytes apart, of
//                                              which only the last has fewer than kDotRows rows
// Padding bits must be zero: those that are set in both rows would be counted. Overflow limit: fewer than 2^31 bits a
// row in all calls that add to the same sums. Tail: words of a run are filled up with zeros; entries of sums past n_left
// or n_right are anything. With `upper` (both panels of the same rows) entries left of the diagonal are anything too.
#pragma once

#include "lowtide/layout.hpp"

namespace lowtide {

constexpr std::size_t kDotRows = 128;

// Panels start at a multiple of 64 bytes.
struct DotTile {
  const void *left, *right;
  std::size_t n_words, n_left, n_right;
  bool upper;
  std::int32_t* sums;
  std::size_t left_bytes = 0;
};

struct DotOp {
  std::size_t run_words;
  std::size_t (*panel_bytes)(std::size_t n_words);
  void (*prepare)(const std::uint64_t* rows, std::size_t n_rows, std::size_t stride, std::size_t n_words, void* panel);
  void (*multiply)(const DotTile& tile);
  std::size_t left_panels = 1;
};

using OnesFn = std::uint32_t (*)(const std::uint64_t* row, std::size_t n_words);

namespace scalar {
extern const DotOp code_dot;
std::uint32_t code_ones(const std::uint64_t* row, std::size_t n_words);
}  // namespace scalar
namespace avx2 {
extern const DotOp code_dot;
std::uint32_t code_ones(const std::uint64_t* row, std::size_t n_words);
}  // namespace avx2
namespace avx512 {
extern const DotOp code_dot;
}
namespace vbmi {
extern const DotOp code_dot;
}
namespace neon {
extern const DotOp code_dot;
std::uint32_t code_ones(const std::uint64_t* row, std::size_t n_words);
}  // namespace neon

}  // namespace lowtide
