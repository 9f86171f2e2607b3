// panel_fill: levels to feature values in the panels of panel_product. Exact.
//
//   columns: panel[(k width + p) 16 + l] = book[p][levels[l stride + k]], k < n, l < 16: a panel whose columns are rows of
//            codes, for products of rows with rows
//   rows:    value j of a row of codes, book[j % width][levels[j / width]], goes to panels[j / 16 panel_stride + j % 16],
//            j < n width: a line of every panel, for products of columns with columns
//
// Levels are below 2^bits, bits at most 4 but at the scalar level; n width is a multiple of 16 for `rows`, n a multiple
// of 16 for `columns`. width is 1 or 2. Nothing need be aligned. There is no tail.
#pragma once

#include "lowtide/layout.hpp"
#include "lowtide/ops/panel_product/panel_product.hpp"

namespace lowtide {

// The codebook (2^bits, width) transposed.
struct PanelBook {
  float value[2][256];
  std::size_t width;
};

struct PanelFillOp {
  void (*columns)(const std::uint8_t* levels, std::size_t stride, std::size_t n, const PanelBook& book, float* panel);
  void (*rows)(const std::uint8_t* levels, std::size_t n, const PanelBook& book, float* panels,
               std::size_t panel_stride);
};

namespace scalar {
extern const PanelFillOp panel_fill;
}
namespace avx2 {
extern const PanelFillOp panel_fill;
}
namespace avx512 {
extern const PanelFillOp panel_fill;
}
namespace neon {
extern const PanelFillOp panel_fill;
}

}  // namespace lowtide
