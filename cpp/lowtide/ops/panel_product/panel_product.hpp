// panel_product: rows times a matrix kept in panels of 16 columns, with fused multiply-adds in a fixed order.
//
// For r < n_rows, c < n_panels, l < 16, with s = 0 and then for k = 0, 1, ..., depth - 1 in turn
//     s = fma(a[r a_row + k a_step], panels[c panel_stride + 16 k + l], s)
// and at the end out[r out_stride + 16 c + l] = s, or += s with `add`. One rounding a term, so all levels give the same
// bits, in any batch: what a BLAS does not promise.
//
// a_row and a_step let `a` be rows of a matrix (its row stride and 1) or columns of a panel (1 and 16). Nothing need be
// aligned. Tail: rows and panels that fill no tile go through smaller tiles; there is no tail in l.
#pragma once

#include <cstddef>

namespace lowtide {

constexpr std::size_t panel_width = 16;

// Of floats here; of other elements in ops that multiply those in the same shape.
template <class Element>
struct PanelProductOf {
  const Element* a;
  std::ptrdiff_t a_row, a_step;
  std::size_t n_rows;
  const Element* panels;
  std::size_t panel_stride, n_panels;
  std::size_t depth;
  float* out;
  std::size_t out_stride;
  bool add;
};

using PanelProduct = PanelProductOf<float>;
using PanelProductFn = void (*)(const PanelProduct& product);

namespace scalar {
void panel_product(const PanelProduct& product);
}
namespace avx2 {
void panel_product(const PanelProduct& product);
}
namespace avx512 {
void panel_product(const PanelProduct& product);
}
namespace neon {
void panel_product(const PanelProduct& product);
}

}  // namespace lowtide
