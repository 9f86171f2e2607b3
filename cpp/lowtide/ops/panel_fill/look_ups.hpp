// Levels looked up sixteen at a time over a register type V, written once for all instruction sets. V lives in an
// unnamed namespace of the including file, so every instance is that file's own:
//   Reg, bytes, zip_low, zip_high, load_rows   16 bytes, as byte_columns.hpp takes them; load, of 16 bytes or of 8
//   Book, book                                 sixteen values in registers
//   put(book, levels, to)                      16 values of 16 levels
//   put_pairs(first, second, levels, to)       16 values of the lower 8 levels, two of each in turn
#pragma once

#include "lowtide/ops/code_scan/byte_columns.hpp"
#include "lowtide/ops/panel_fill/panel_fill.hpp"

namespace lowtide::panel_look_ups {

template <class V>
struct LookUps {
  static void columns(const std::uint8_t* levels, std::size_t stride, std::size_t n, const PanelBook& book,
                      float* panel) {
    const std::uint8_t* row[panel_width];
    for (std::size_t l = 0; l < panel_width; ++l) row[l] = levels + l * stride;
    const auto first = V::book(book.value[0]), second = V::book(book.value[1]);
    if (book.width == 1)
      byte_columns::each_column<V>(row, n, [&](std::size_t k, auto column) { V::put(first, column, panel + k * 16); });
    else
      byte_columns::each_column<V>(row, n, [&](std::size_t k, auto column) {
        V::put(first, column, panel + k * 32);
        V::put(second, column, panel + k * 32 + 16);
      });
  }

  static void rows(const std::uint8_t* levels, std::size_t n, const PanelBook& book, float* panels,
                   std::size_t panel_stride) {
    const auto first = V::book(book.value[0]), second = V::book(book.value[1]);
    if (book.width == 1)
      for (std::size_t j = 0; j < n; j += 16, panels += panel_stride) V::put(first, V::load(levels + j, true), panels);
    else
      for (std::size_t j = 0; j < n; j += 8, panels += panel_stride)
        V::put_pairs(first, second, V::load(levels + j, false), panels);
  }
};

}  // namespace lowtide::panel_look_ups
