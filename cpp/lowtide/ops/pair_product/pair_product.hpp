// pair_product: products of rows or columns of small whole numbers, by exact sums of products of two terms at once.
//
// A pair holds two terms that follow one another in the sum. Panels and product have the shape of ops/panel_product,
// with pairs in place of floats: for r < n_rows, c < n_panels, l < 16, with x = a[r a_row + k a_step] and
// y = panels[c panel_stride + 16 k + l],
//     s = sum over k < depth of x[0] y[0] + x[1] y[1],      out[r out_stride + 16 c + l] = float(s), or += with `add`.
// Numbers are at most kPairMost in absolute value and depth at most kPairDepth: then s fits 32 bits, and nothing but
// the float of s, and its sum, is rounded. All levels give the same bits.
//
// Levels become pairs by a book of whole numbers:
//   columns: panel[k 16 + l] = pair of the columns 2k, 2k + 1 of row l of codes, as panel_fill counts columns
//   rows:    column j of two rows of codes, one pair, goes to panels[j / 16 panel_stride + j % 16]
//   line:    to[k] = pair of the columns 2k, 2k + 1 of one row of codes
// n levels a row, below 2^bits, bits at most 4 but at the scalar level; n is a multiple of 16, but n width for `rows`.
// Nothing need be aligned. Tail: terms past the end are for the caller to make zero on one side; rows and panels that
// fill no tile go through smaller tiles.
#pragma once

#include <cstdint>

#include "lowtide/ops/panel_product/panel_product.hpp"

namespace lowtide {

struct Pair {
  std::int16_t term[2];
};

constexpr std::int64_t kPairMost = 2047;
constexpr std::size_t kPairDepth = 256;
static_assert(2 * kPairMost * kPairMost * static_cast<std::int64_t>(kPairDepth) <= INT32_MAX);

// The whole numbers of a codebook (2^bits, width), transposed. With width 1 both columns are the same.
struct PairBook {
  std::int16_t value[2][256];
  std::size_t width;
};

using PairProduct = PanelProductOf<Pair>;

struct PairOp {
  void (*columns)(const std::uint8_t* levels, std::size_t stride, std::size_t n, const PairBook& book, Pair* panel);
  void (*rows)(const std::uint8_t* first, const std::uint8_t* second, std::size_t n, const PairBook& book, Pair* panels,
               std::size_t panel_stride);
  void (*line)(const std::uint8_t* levels, std::size_t n, const PairBook& book, Pair* to);
  void (*multiply)(const PairProduct& product);
};

namespace scalar {
extern const PairOp pair_product;
}
namespace avx2 {
extern const PairOp pair_product;
}
namespace avx512 {
extern const PairOp pair_product;
}

}  // namespace lowtide
