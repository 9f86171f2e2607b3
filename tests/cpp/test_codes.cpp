// Ops on packed codes: every runnable level against plain loops over unpacked levels, on buffers of exactly the size
// that the contracts name, so that the sanitizers see any step outside.
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "lowtide/buffer.hpp"
#include "lowtide/code_counts.hpp"
#include "lowtide/code_products.hpp"
#include "lowtide/layout.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/panel_dot.hpp"

namespace lowtide {
namespace {

using Levels = std::vector<std::uint8_t>;

struct Drawn {
  std::size_t n_rows, n_levels;
  unsigned bits;
  std::size_t width;
  Levels levels;
  std::vector<std::uint64_t> rows;
  std::vector<float> book;

  CodeMatrix matrix() const { return {rows.data(), n_rows, n_levels, bits, book.data(), width}; }
  double value(std::size_t i, std::size_t f) const {
    return book[levels[i * n_levels + f / width] * width + f % width];
  }
};

Drawn draw(std::size_t n_rows, std::size_t n_levels, unsigned bits, std::size_t width, unsigned seed = 0) {
  std::mt19937 random(seed + 1);
  Drawn d{n_rows, n_levels, bits, width, Levels(n_rows * n_levels), {}, std::vector<float>(width << bits)};
  for (auto& level : d.levels) level = static_cast<std::uint8_t>(random() & ((1u << bits) - 1));
  for (auto& v : d.book) v = static_cast<float>(static_cast<int>(random() % 9) - 4);
  const std::size_t words = words_per_row(n_levels, bits);
  d.rows.resize(n_rows * words);
  for (std::size_t i = 0; i < n_rows; ++i)
    scalar::pack(d.levels.data() + i * n_levels, n_levels, bits, d.rows.data() + i * words);
  return d;
}

std::string where(Isa level, unsigned bits, std::size_t n_levels) {
  return std::string(isa_name(level)) + " bits " + std::to_string(bits) + " levels " + std::to_string(n_levels);
}

const std::vector<std::size_t> kWidths = {1, 7, 8, 63, 64, 65, 130, 1000};
const std::vector<unsigned> kBits = {1, 2, 3, 4, 8};

}  // namespace

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

// Panels of exactly the size that the op asks for.
std::vector<std::int32_t> dot_of_panels(const DotOp& op, const Drawn& a, const Drawn& b, bool upper) {
  const std::size_t n_words = words_per_row(a.n_levels, a.bits);
  const auto left = make_buffer<std::uint8_t>(op.panel_bytes(n_words));
  const auto right = make_buffer<std::uint8_t>(op.panel_bytes(n_words));
  op.prepare(a.rows.data(), a.n_rows, n_words, n_words, left.get());
  op.prepare(b.rows.data(), b.n_rows, n_words, n_words, right.get());
  std::vector<std::int32_t> sums(kDotRows * kDotRows, 2);
  op.multiply({left.get(), right.get(), n_words, a.n_rows, b.n_rows, upper, sums.data()});
  return sums;
}

LOWTIDE_TEST(code_dot_counts_common_ones) {
  for (Isa level : check::runnable_levels())
    for (std::size_t n_levels : {1, 64, 65, 511, 513, 2100, 4096})
      for (std::size_t n_b : {1, 3, 9, 127, 128}) {
        const Drawn a = draw(5, n_levels, 1, 1), b = draw(n_b, n_levels, 1, 1, 7);
        const auto sums = dot_of_panels(ops_at(level).code_dot, a, b, false);
        bool same = true;
        for (std::size_t i = 0; i < 5; ++i)
          for (std::size_t j = 0; j < n_b; ++j) {
            std::int32_t count = 2;
            for (std::size_t f = 0; f < n_levels; ++f) count += a.levels[i * n_levels + f] & b.levels[j * n_levels + f];
            same = same && sums[i * kDotRows + j] == count;
          }
        CHECK(same, where(level, 1, n_levels));
      }
}

LOWTIDE_TEST(code_dot_leaves_out_no_more_than_what_is_left_of_the_diagonal) {
  for (Isa level : check::runnable_levels())
    for (std::size_t n_rows : {1, 2, 33, 101, 128}) {
      const Drawn a = draw(n_rows, 300, 1, 1);
      const auto whole = dot_of_panels(ops_at(level).code_dot, a, a, false);
      const auto upper = dot_of_panels(ops_at(level).code_dot, a, a, true);
      bool same = true;
      for (std::size_t i = 0; i < n_rows; ++i)
        for (std::size_t j = i; j < n_rows; ++j) same = same && upper[i * kDotRows + j] == whole[i * kDotRows + j];
      CHECK(same, where(level, 1, n_rows));
    }
}

LOWTIDE_TEST(code_ones_counts_the_ones_of_a_row) {
  for (Isa level : check::runnable_levels())
    for (std::size_t n_levels : {1, 64, 65, 2100, 33000}) {
      const Drawn d = draw(1, n_levels, 1, 1);
      std::uint32_t count = 0;
      for (std::uint8_t bit : d.levels) count += bit;
      CHECK(ops_at(level).code_ones(d.rows.data(), d.rows.size()) == count, where(level, 1, n_levels));
    }
}

LOWTIDE_TEST(trit_dot_sums_products) {
  constexpr int trit[4] = {0, 1, -1, 0};
  for (Isa level : check::runnable_levels())
    for (std::size_t n_levels : {1, 32, 33, 511, 513, 2048})
      for (std::size_t n_b : {1, 3, 9, 128}) {
        const Drawn a = draw(5, n_levels, 2, 1), b = draw(n_b, n_levels, 2, 1, 7);
        const auto sums = dot_of_panels(ops_at(level).trit_dot, a, b, false);
        bool same = true;
        for (std::size_t i = 0; i < 5; ++i)
          for (std::size_t j = 0; j < n_b; ++j) {
            std::int32_t sum = 2;
            for (std::size_t f = 0; f < n_levels; ++f)
              sum += trit[a.levels[i * n_levels + f]] * trit[b.levels[j * n_levels + f]];
            same = same && sums[i * kDotRows + j] == sum;
          }
        CHECK(same, where(level, 2, n_levels));
      }
}

LOWTIDE_TEST(panel_fill_looks_levels_up) {
  for (Isa level : check::runnable_levels())
    for (std::size_t width : {1, 2})
      for (std::size_t n : {16, 48, 256}) {
        const Drawn d = draw(panel_width, n, 4, width);
        PanelBook book{{}, width};
        for (std::size_t v = 0; v < 16; ++v)
          for (std::size_t p = 0; p < width; ++p) book.value[p][v] = d.book[v * width + p];
        const std::size_t F = n * width;
        std::vector<float> panel(F * panel_width, NAN), rows(F * panel_width, NAN);
        const PanelFillOp& op = ops_at(level).panel_fill;
        op.columns(d.levels.data(), n, n, book, panel.data());
        for (std::size_t l = 0; l < panel_width; ++l)
          op.rows(d.levels.data() + l * n, n, book, rows.data() + l * panel_width, panel_width * panel_width);
        bool same = true;
        for (std::size_t l = 0; l < panel_width; ++l)
          for (std::size_t f = 0; f < F; ++f)
            same =
                same && panel[f * panel_width + l] == d.value(l, f) &&
                rows[f / panel_width * panel_width * panel_width + l * panel_width + f % panel_width] == d.value(l, f);
        CHECK(same, where(level, 4, n));
      }
}

LOWTIDE_TEST(code_gram_tiles_count_common_ones) {
  for (Isa level : check::runnable_levels())
    for (std::size_t n_rows : {1, 4, 63, 241, 1000})
      for (std::size_t n_levels : {1, 65, 129}) {
        const Drawn d = draw(n_rows, n_levels, 1, 1);
        const GramOp& op = ops_at(level).code_gram;
        const std::size_t n_tiles = gram_tiles(n_levels);
        std::vector<std::uint64_t> operand(op.operand_bytes(n_levels, n_rows) / 8, ~std::uint64_t{0});
        op.prepare(d.rows.data(), n_rows, n_levels, 0, n_tiles, operand.data());
        std::vector<std::uint32_t> counts(kGramTile * kGramTile, 0);
        op.tile(operand.data(), n_rows, n_levels, 0, n_tiles - 1, counts.data());
        bool same = true;
        for (std::size_t j = 0; j < kGramTile; ++j)
          for (std::size_t k = 0; k < kGramTile; ++k) {
            const std::size_t right = (n_tiles - 1) * kGramTile + k;
            std::uint32_t count = 0;
            for (std::size_t i = 0; i < n_rows && j < n_levels && right < n_levels; ++i)
              count += d.levels[i * n_levels + j] & d.levels[i * n_levels + right];
            same = same && counts[j * kGramTile + k] == count;
          }
        CHECK(same, where(level, 1, n_levels));
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

// 70 and 600 rows: one strip, and several with one in part; the same rows, and a copy of them.
LOWTIDE_TEST(dot_of_rows_with_themselves_is_that_with_a_copy) {
  for (std::size_t n_rows : {1, 70, 600})
    for (unsigned bits : {1u, 4u}) {
      const Drawn a = draw(n_rows, 131, bits, 1), b = a;
      std::vector<float> own(n_rows * n_rows, NAN), other(n_rows * n_rows, NAN);
      if (bits == 1) {
        code_dot(a.matrix(), a.matrix(), own.data());
        code_dot(a.matrix(), b.matrix(), other.data());
      } else {
        panel_dot(a.matrix(), a.matrix(), nullptr, own.data());
        panel_dot(a.matrix(), b.matrix(), nullptr, other.data());
      }
      CHECK(check::same_bits(own, other), where(active_isa(), bits, n_rows));
    }
}

LOWTIDE_TEST(gram_and_dot_of_whole_matrices_are_exact_on_integers) {
  for (std::size_t width : {1, 2}) {
    const Drawn a = draw(70, 131, 1, width), b = draw(300, 131, 1, width, 3);
    const std::size_t F = 131 * width;
    std::vector<float> gram(F * F, NAN), dot(70 * 300, NAN);
    code_gram(a.matrix(), gram.data());
    code_dot(a.matrix(), b.matrix(), dot.data());
    bool same = true;
    for (std::size_t f = 0; f < F; ++f)
      for (std::size_t g = 0; g < F; ++g) {
        double sum = 0;
        for (std::size_t i = 0; i < 70; ++i) sum += a.value(i, f) * a.value(i, g);
        same = same && gram[f * F + g] == sum;
      }
    for (std::size_t i = 0; i < 70; ++i)
      for (std::size_t j = 0; j < 300; ++j) {
        double sum = 0;
        for (std::size_t f = 0; f < F; ++f) sum += a.value(i, f) * b.value(j, f);
        same = same && dot[i * 300 + j] == sum;
      }
    CHECK(same, where(active_isa(), 1, 131));
  }
}

}  // namespace lowtide
