// Ops on packed codes: every runnable level against plain loops over unpacked levels, on buffers of exactly the size
// that the contracts name, so that the sanitizers see any step outside.
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "drawn.hpp"
#include "lowtide/buffer.hpp"
#include "lowtide/code_counts.hpp"
#include "lowtide/code_products.hpp"
#include "lowtide/layout.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/panel_dot.hpp"

namespace lowtide {

LOWTIDE_TEST(pack_and_unpack_agree_with_scalar) {
  for (Isa level : check::runnable_levels())
    for (unsigned bits : kBits)
      for (std::size_t n_levels : kWidths) {
        const Drawn d = draw(1, n_levels, bits, 1);
        std::vector<std::uint64_t> row(words_per_row(n_levels, bits), ~std::uint64_t{0});
        ops_at(level).pack(d.levels.data(), n_levels, bits, row.data());
        CHECK(check::same_bits(row, d.rows), where(level, bits, n_levels));
        Levels back(n_levels, 0xAA);
        ops_at(level).unpack(row.data(), n_levels, bits, back.data());
        CHECK(check::same_bits(back, d.levels), where(level, bits, n_levels));
      }
}

LOWTIDE_TEST(decode_reads_the_codebook) {
  for (Isa level : check::runnable_levels())
    for (unsigned bits : kBits)
      for (std::size_t width : {1, 2})
        for (std::size_t n_levels : kWidths) {
          const Drawn d = draw(1, n_levels, bits, width);
          std::vector<float> single(n_levels * width);
          std::vector<double> wide(n_levels * width);
          ops_at(level).decode_f32(d.rows.data(), n_levels, bits, d.book.data(), width, single.data());
          ops_at(level).decode_f64(d.rows.data(), n_levels, bits, d.book.data(), width, wide.data());
          bool same = true;
          for (std::size_t f = 0; f < wide.size(); ++f)
            same = same && single[f] == d.value(0, f) && wide[f] == d.value(0, f);
          CHECK(same, where(level, bits, n_levels));
        }
}

LOWTIDE_TEST(code_transpose_exchanges_rows_and_levels) {
  for (Isa level : check::runnable_levels())
    for (unsigned bits : {1u, 2u, 4u})
      for (std::size_t n_rows : {1, 63, 64, 65, 200})
        for (std::size_t n_levels : kWidths) {
          const Drawn d = draw(n_rows, n_levels, bits, 1);
          const std::size_t row_words = words_per_row(n_levels, bits), words = words_per_row(n_rows, bits) + 1;
          std::vector<std::uint64_t> columns(row_words * (64 / bits) * words, ~std::uint64_t{0});
          ops_at(level).code_transpose(d.rows.data(), n_rows, row_words, 0, row_words, bits, columns.data(), words);
          bool same = true;
          const std::size_t capacity = words * 64 / bits;
          Levels column(capacity);
          for (std::size_t j = 0; j < row_words * 64 / bits; ++j) {
            scalar::unpack(columns.data() + j * words, capacity, bits, column.data());
            for (std::size_t i = 0; i < capacity; ++i)
              same = same && column[i] == (i < n_rows && j < n_levels ? d.levels[i * n_levels + j] : 0);
          }
          CHECK(same, where(level, bits, n_levels));
        }
}

// Rows and words as a tile, and as much room as its contract names.
struct Tile {
  std::size_t stride;
  std::vector<std::uint64_t> words;

  Tile(std::size_t n_items, std::size_t n_words)
      : stride(tile_items(n_items)), words(stride * n_words, 0xAAAAAAAAAAAAAAAA) {}
};

LOWTIDE_TEST(row_tile_brings_the_words_of_rows_together) {
  for (Isa level : check::runnable_levels())
    for (unsigned bits : {1u, 2u, 3u, 4u})
      for (std::size_t n_rows : {0, 1, 4, 63, 64, 70})
        for (std::size_t n_levels : kWidths) {
          const Drawn d = draw(n_rows, n_levels, bits, 1);
          const unsigned wide = tile_bits(bits);
          const std::size_t per = 64 / wide, n_words = words_per_row(n_levels, wide), first = n_words / 3;
          Tile tile(n_rows, n_words - first);
          ops_at(level).row_tile(d.rows.data(), n_rows, words_per_row(n_levels, bits), first, n_words, bits,
                                 tile.words.data(), tile.stride);
          bool same = true;
          Levels found(per);
          for (std::size_t w = first; w < n_words; ++w)
            for (std::size_t i = 0; i < n_rows; ++i) {
              scalar::unpack(&tile.words[(w - first) * tile.stride + i], per, wide, found.data());
              for (std::size_t l = 0; l < per; ++l) {
                const std::size_t j = w * per + l;
                same = same && found[l] == (j < n_levels ? d.levels[i * n_levels + j] : 0);
              }
            }
          CHECK(same, where(level, bits, n_levels));
        }
}

LOWTIDE_TEST(column_tile_brings_the_words_of_levels_together) {
  for (Isa level : check::runnable_levels())
    for (unsigned bits : {1u, 2u, 3u, 4u})
      for (std::size_t n_rows : {1, 15, 64, 65, 200})
        for (std::size_t n_levels : kWidths) {
          const Drawn d = draw(n_rows, n_levels, bits, 1);
          const unsigned wide = tile_bits(bits);
          const std::size_t per = 64 / wide, n_words = words_per_row(n_levels, wide), first = n_words / 3;
          const std::size_t n_items = (n_words - first) * per, column_words = words_per_row(n_rows, wide);
          Tile tile(n_items, column_words);
          ops_at(level).column_tile(d.rows.data(), n_rows, words_per_row(n_levels, bits), first, n_words, bits,
                                    tile.words.data(), tile.stride);
          bool same = true;
          Levels found(per);
          for (std::size_t b = 0; b < column_words; ++b)
            for (std::size_t item = 0; item < n_items; ++item) {
              scalar::unpack(&tile.words[b * tile.stride + item], per, wide, found.data());
              const std::size_t j = first * per + item;
              for (std::size_t l = 0; l < per; ++l) {
                const std::size_t i = b * per + l;
                same = same && found[l] == (i < n_rows && j < n_levels ? d.levels[i * n_levels + j] : 0);
              }
            }
          CHECK(same, where(level, bits, n_levels));
        }
}

// Small integers: every sum is exact, so the levels must agree to the bit. The first word is left out: tables are found
// from the word's number, the tile from its place.
template <typename T>
bool product_is_exact(Isa level, std::size_t n_rows, std::size_t n_levels, std::size_t n_columns,
                      TablesFn<T> Ops::* fill, ProductFn<T> Ops::* multiply) {
  const Drawn d = draw(n_rows, n_levels, 1, 1);
  const std::size_t words = words_per_row(n_levels, 1), nibbles = 16 * words, stride = n_columns + 2;
  std::vector<T> values(4 * 16), W(n_levels * n_columns), out(n_rows * stride, T{3});
  for (unsigned q = 0; q < 4; ++q)
    for (unsigned v = 0; v < 16; ++v) values[q * 16 + v] = static_cast<T>(d.book[v >> q & 1]);
  for (std::size_t i = 0; i < W.size(); ++i) W[i] = static_cast<T>(static_cast<int>(i * 7 % 11) - 5);
  std::vector<T> tables(16 * nibbles * padded_columns(n_columns));
  Tile tile(n_rows, words - 1);
  const Ops& table = ops_at(level);
  table.row_tile(d.rows.data(), n_rows, words, 1, words, 1, tile.words.data(), tile.stride);
  (table.*fill)(values.data(), 4, W.data(), n_levels, n_columns, 0, words, n_columns, tables.data());
  (table.*multiply)(tile.words.data(), n_rows, tile.stride, 1, words, tables.data(), n_columns, out.data(), stride);
  bool same = true;
  for (std::size_t i = 0; i < n_rows; ++i)
    for (std::size_t k = 0; k < stride; ++k) {
      double sum = 3.0;
      for (std::size_t f = 64; f < n_levels && k < n_columns; ++f) sum += d.value(i, f) * double{W[f * n_columns + k]};
      same = same && out[i * stride + k] == sum;
    }
  return same;
}

LOWTIDE_TEST(code_product_is_exact_on_integers) {
  for (Isa level : check::runnable_levels())
    for (std::size_t n_rows : {1, 15, 16, 17, 65, 130, 600, 1030})
      for (std::size_t n_columns = 1; n_columns <= kMaxColumns; ++n_columns) {
        const bool single =
            product_is_exact<float>(level, n_rows, 150, n_columns, &Ops::code_tables_f32, &Ops::code_product_f32);
        const bool wide =
            product_is_exact<double>(level, n_rows, 150, n_columns, &Ops::code_tables_f64, &Ops::code_product_f64);
        CHECK(single && wide, where(level, 1, n_columns) + " rows " + std::to_string(n_rows));
      }
}

template <typename T>
bool row_product_is_exact(RowProductFn<T> op, const Drawn& d, std::size_t n_columns) {
  // Columns a few weights apart, the first one weight past where memory begins: no register is aligned.
  const std::size_t n = d.n_levels * d.width, stride = n + 3;
  std::vector<T> weights(1 + (n_columns - 1) * stride + n), out(n_columns, T{-1});
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<T>(static_cast<int>(i * 7 % 11) - 5);
  op({d.rows.data(), d.n_levels, d.bits, d.book.data(), d.width, weights.data() + 1, stride, n_columns, out.data()});
  bool same = true;
  for (std::size_t k = 0; k < n_columns; ++k) {
    double sum = 0.0;
    for (std::size_t f = 0; f < n; ++f) sum += d.value(0, f) * weights[1 + k * stride + f];
    same = same && out[k] == sum;
  }
  return same;
}

// Small integers again, on rows of less than a register up to several chunks.
LOWTIDE_TEST(row_product_is_exact_on_integers) {
  for (Isa level : check::runnable_levels())
    for (unsigned bits : kBits)
      for (std::size_t width : {1, 2})
        for (std::size_t n_levels : {1, 7, 8, 63, 64, 65, 130, 1000, 1024, 1025, 2100})
          for (std::size_t n_columns : {1, 2, 3, 4, 5, 10}) {
            const Drawn d = draw(1, n_levels, bits, width);
            CHECK(row_product_is_exact(ops_at(level).row_product_f32, d, n_columns), where(level, bits, n_levels));
            CHECK(row_product_is_exact(ops_at(level).row_product_f64, d, n_columns), where(level, bits, n_levels));
          }
}

LOWTIDE_TEST(products_of_whole_matrices_are_exact_on_integers) {
  for (unsigned bits : {1u, 2u, 3u, 4u})
    for (std::size_t width : {1, 2})
      for (std::size_t n_rows : {1, 70, 300, 2100}) {
        const Drawn d = draw(n_rows, 65, bits, width);
        const std::size_t F = 65 * width, c = 18;
        std::vector<double> W(F * c), R(n_rows * c), out(n_rows * c, NAN), back(F * c, NAN);
        for (std::size_t i = 0; i < W.size(); ++i) W[i] = static_cast<double>(i % 13) - 6;
        for (std::size_t i = 0; i < R.size(); ++i) R[i] = static_cast<double>(i % 7) - 3;
        code_matvec(d.matrix(), W.data(), c, out.data());
        code_rmatvec(d.matrix(), R.data(), c, back.data());
        bool same = true;
        for (std::size_t k = 0; k < c; ++k) {
          for (std::size_t i = 0; i < n_rows; ++i) {
            double sum = 0;
            for (std::size_t f = 0; f < F; ++f) sum += d.value(i, f) * W[f * c + k];
            same = same && out[i * c + k] == sum;
          }
          for (std::size_t f = 0; f < F; ++f) {
            double sum = 0;
            for (std::size_t i = 0; i < n_rows; ++i) sum += d.value(i, f) * R[i * c + k];
            same = same && back[f * c + k] == sum;
          }
        }
        CHECK(same, where(active_isa(), bits, n_rows));
      }
}

}  // namespace lowtide
