// The tiles of the panel product over a register type V, written once for all instruction sets: R rows of C registers
// are held at once, and every term is one broadcast of `a` and C multiply-adds. V lives in an unnamed namespace of the
// including file, so every instance is that file's own:
//   Element, Reg, width               what panels hold, a register of sums and of terms, and how many of either it has
//   zero, load, broadcast, fmadd      of elements
//   floats, add, load, store          a register of sums as floats, and these
#pragma once

#include "lowtide/ops/panel_product/panel_product.hpp"

namespace lowtide::panel_tiles {

// P panels of panel_width / V::width registers each.
template <class V, int R, int P>
void tile(const PanelProductOf<typename V::Element>& p, std::size_t row, std::size_t panel) {
  constexpr int per_panel = static_cast<int>(panel_width / V::width), C = P * per_panel;
  const typename V::Element* b = p.panels + panel * p.panel_stride;
  const typename V::Element* a = p.a + static_cast<std::ptrdiff_t>(row) * p.a_row;
  typename V::Reg sum[R][C];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) sum[r][c] = V::zero();
  }
  for (std::size_t k = 0; k < p.depth; ++k) {
    typename V::Reg term[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c)
      term[c] = V::load(b + static_cast<std::size_t>(c / per_panel) * p.panel_stride + (c % per_panel) * V::width);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const typename V::Reg wide = V::broadcast(a + r * p.a_row);
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) sum[r][c] = V::fmadd(wide, term[c], sum[r][c]);
    }
    a += p.a_step;
    b += panel_width;
  }
  float* out = p.out + row * p.out_stride + panel * panel_width;
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) {
      float* to = out + static_cast<std::size_t>(r) * p.out_stride + static_cast<std::size_t>(c) * V::width;
      const auto more = V::floats(sum[r][c]);
      V::store(to, p.add ? V::add(V::load(to), more) : more);
    }
  }
}

// Whole tiles of R rows, then ever smaller ones.
template <class V, int R, int P>
void rows(const PanelProductOf<typename V::Element>& p, std::size_t row, std::size_t panel) {
  for (; row + R <= p.n_rows; row += R) tile<V, R, P>(p, row, panel);
  if constexpr (R > 1) {
    if (row < p.n_rows) rows<V, (R > 2 ? R - 2 : 1), P>(p, row, panel);
  }
}

// Groups of P panels, each against all rows, then ever smaller ones.
template <class V, int R, int P>
void panels(const PanelProductOf<typename V::Element>& p, std::size_t panel = 0) {
  for (; panel + P <= p.n_panels; panel += P) rows<V, R, P>(p, 0, panel);
  if constexpr (P > 1) {
    if (panel < p.n_panels) panels<V, R, P - 1>(p, panel);
  }
}

}  // namespace lowtide::panel_tiles
