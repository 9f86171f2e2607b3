// Levels looked up as pairs over a register type V, written once for all instruction sets. V lives in an unnamed
// namespace of the including file, so every instance is that file's own:
//   Reg, bytes, zip_low, zip_high, load_rows   16 bytes, as byte_columns.hpp takes them; load, of 16 bytes or of 8
//   Book, book                                 two tables of sixteen numbers, f and s
//   put(book, a, b, to)                        16 pairs f[a], s[b]
//   put_turned(book, a, b, to)                 of the lower 8 levels of a and b, in turn f[a], f[b] and s[a], s[b]
//   put_line(book, a, to)                      f of 16 levels, 8 pairs
#pragma once

#include "lowtide/ops/code_scan/byte_columns.hpp"
#include "lowtide/ops/pair_product/pair_product.hpp"

namespace lowtide::pair_look_ups {

template <class V>
struct LookUps {
  static void columns(const std::uint8_t* levels, std::size_t stride, std::size_t n, const PairBook& book,
                      Pair* panel) {
    const std::uint8_t* row[panel_width];
    for (std::size_t l = 0; l < panel_width; ++l) row[l] = levels + l * stride;
    const auto tables = V::book(book);
    if (book.width == 2) {
      byte_columns::each_column<V>(
          row, n, [&](std::size_t k, auto column) { V::put(tables, column, column, panel + k * panel_width); });
      return;
    }
    typename V::Reg before{};
    byte_columns::each_column<V>(row, n, [&](std::size_t k, auto column) {
      if (k % 2 == 1) V::put(tables, before, column, panel + k / 2 * panel_width);
      before = column;
    });
  }

  static void rows(const std::uint8_t* first, const std::uint8_t* second, std::size_t n, const PairBook& book,
                   Pair* panels, std::size_t panel_stride) {
    const auto tables = V::book(book);
    if (book.width == 1)
      for (std::size_t j = 0; j < n; j += 16, panels += panel_stride)
        V::put(tables, V::load(first + j, true), V::load(second + j, true), panels);
    else
      for (std::size_t j = 0; j < n; j += 8, panels += panel_stride)
        V::put_turned(tables, V::load(first + j, false), V::load(second + j, false), panels);
  }

  static void line(const std::uint8_t* levels, std::size_t n, const PairBook& book, Pair* to) {
    const auto tables = V::book(book);
    for (std::size_t j = 0; j < n; j += 16, to += 8 * book.width) {
      const auto some = V::load(levels + j, true);
      if (book.width == 1)
        V::put_line(tables, some, to);
      else
        V::put(tables, some, some, to);
    }
  }
};

}  // namespace lowtide::pair_look_ups
