// Levels to packed rows and back: pack, unpack, decode; in another order: code_transpose, row_tile, column_tile; to
// panels: panel_fill.
#include "cases.hpp"
#include "inputs.hpp"
#include "lowtide/layout.hpp"

namespace lowtide::opcount {
namespace {

constexpr std::size_t n = 4096;  // levels a row

std::string with_bits(const char* op, unsigned bits) {
  return std::string(op) + " " + std::to_string(bits) + (bits == 1 ? " bit" : " bits");
}

void add_pack(Cases& cases, unsigned bits) {
  cases.push_back({with_bits("pack", bits), n, "level", [=](const Ops& ops) {
                     const auto levels = integers<std::uint8_t>(n, 1u << bits, 1);
                     const auto row = zeros<std::uint64_t>(words_per_row(n, bits));
                     return [=, &ops] { ops.pack(levels.get(), n, bits, row.get()); };
                   }});
  cases.push_back({with_bits("unpack", bits), n, "level", [=](const Ops& ops) {
                     const auto levels = zeros<std::uint8_t>(n);
                     const auto row = words(words_per_row(n, bits), 2);
                     return [=, &ops] { ops.unpack(row.get(), n, bits, levels.get()); };
                   }});
}

template <typename T>
void add_decode(Cases& cases, const std::string& name, DecodeFn<T> Ops::* op, unsigned bits, std::size_t width) {
  cases.push_back({name, n * width, "feature", [=](const Ops& ops) {
                     const auto row = words(words_per_row(n, bits), 3);
                     const auto book = numbers<float>(width << bits, 4);
                     const auto out = zeros<T>(n * width);
                     return [=, &ops] { (ops.*op)(row.get(), n, bits, book.get(), width, out.get()); };
                   }});
}

void add_transpose(Cases& cases, unsigned bits) {
  constexpr std::size_t n_rows = 512, row_words = 16;
  const std::size_t n_levels = row_words * 64 / bits, column_words = words_per_row(n_rows, bits);
  cases.push_back({with_bits("code_transpose", bits), n_rows * n_levels, "level", [=](const Ops& ops) {
                     const auto rows = words(n_rows * row_words, 5);
                     const auto out = zeros<std::uint64_t>(n_levels * column_words);
                     return [=, &ops] {
                       ops.code_transpose(rows.get(), n_rows, row_words, 0, row_words, bits, out.get(), column_words);
                     };
                   }});
}

void add_tile(Cases& cases, const char* name, TileFn Ops::* op, unsigned bits) {
  constexpr std::size_t n_rows = 512, row_words = 16;
  const std::size_t n_levels = row_words * 64 / bits;
  const bool is_rows = op == &Ops::row_tile;
  const std::size_t stride = tile_items(is_rows ? n_rows : n_levels);
  const std::size_t n_words = is_rows ? row_words : words_per_row(n_rows, bits);
  cases.push_back({with_bits(name, bits), n_rows * n_levels, "level", [=](const Ops& ops) {
                     const auto rows = words(n_rows * row_words, 5);
                     const auto tile = zeros<std::uint64_t>(n_words * stride);
                     return [=, &ops] {
                       (ops.*op)(rows.get(), n_rows, row_words, 0, row_words, bits, tile.get(), stride);
                     };
                   }});
}

void add_fill(Cases& cases, const char* name, bool columns) {
  constexpr std::size_t n_levels = 256;
  cases.push_back({name, n_levels * panel_width, "feature", [=](const Ops& ops) {
                     const auto levels = integers<std::uint8_t>(n_levels * panel_width, 16, 5);
                     const auto panel = zeros<float>(n_levels * panel_width);
                     const Array<PanelBook> book = zeros<PanelBook>(1);
                     book[0].width = 1;
                     return [=, &ops] {
                       if (columns)
                         ops.panel_fill.columns(levels.get(), n_levels, n_levels, book[0], panel.get());
                       else
                         ops.panel_fill.rows(levels.get(), n_levels * panel_width, book[0], panel.get(), panel_width);
                     };
                   }});
}

}  // namespace

void add_layouts(Cases& cases) {
  for (unsigned bits : {1u, 2u, 3u, 4u, 8u}) add_pack(cases, bits);
  for (unsigned bits : {1u, 2u, 3u, 4u, 8u})
    add_decode<float>(cases, with_bits("decode_f32", bits), &Ops::decode_f32, bits, 1);
  for (unsigned bits : {1u, 4u})
    add_decode<float>(cases, with_bits("decode_f32 pairs,", bits), &Ops::decode_f32, bits, 2);
  for (unsigned bits : {1u, 4u}) add_decode<double>(cases, with_bits("decode_f64", bits), &Ops::decode_f64, bits, 1);
  for (unsigned bits : {1u, 2u, 4u}) {
    add_transpose(cases, bits);
    add_tile(cases, "row_tile", &Ops::row_tile, bits);
    add_tile(cases, "column_tile", &Ops::column_tile, bits);
  }
  add_fill(cases, "panel_fill columns", true);
  add_fill(cases, "panel_fill rows", false);
}

}  // namespace lowtide::opcount
