// Products of codes with codes: every runnable level against plain loops, on buffers of exactly the size that the
// contracts name, so that the sanitizers see any step outside.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "drawn.hpp"
#include "lowtide/bit_dot.hpp"
#include "lowtide/buffer.hpp"
#include "lowtide/code_counts.hpp"
#include "lowtide/code_products.hpp"
#include "lowtide/layout.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/panel_dot.hpp"

namespace lowtide {

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

// Weights up to the largest, and only such: a run of them comes close to 2^32.
LOWTIDE_TEST(bit_dot_sums_weights_where_bits_are_one) {
  constexpr std::uint32_t largest = (1u << kWeightBits) - 1;
  for (Isa level : check::runnable_levels())
    for (std::size_t n_words : {std::size_t{1}, std::size_t{3}, kBitRun})
      for (std::size_t n_rows : {1, 5, 33, 64, 97, 128})
        for (bool full : {false, true}) {
          Drawn a = draw(n_rows, 64 * n_words, 1, 1);
          if (full) {
            std::fill(a.levels.begin(), a.levels.end(), std::uint8_t{1});
            std::fill(a.rows.begin(), a.rows.end(), ~std::uint64_t{0});
          }
          std::mt19937 random(5);
          std::vector<float> weights(64 * n_words);
          for (float& weight : weights) weight = static_cast<float>(full ? largest : random() & largest);
          const BitDotOp& op = ops_at(level).bit_dot;
          const auto bits = make_buffer<std::uint8_t>(op.bits_bytes(n_words));
          const auto tables = make_buffer<std::uint8_t>(op.weights_bytes(n_words));
          op.prepare_bits(a.rows.data(), n_rows, n_words, n_words, bits.get());
          op.prepare_weights(weights.data(), n_words, tables.get());
          std::vector<double> sums(kDotRows, 0x1p52);
          op.multiply(bits.get(), tables.get(), n_words, n_rows, sums.data());
          bool same = true;
          for (std::size_t i = 0; i < n_rows; ++i) {
            double sum = 0x1p52;
            for (std::size_t k = 0; k < weights.size(); ++k)
              if (a.levels[i * weights.size() + k] == 1) sum += weights[k];
            same = same && sums[i] == sum;
          }
          CHECK(same, where(level, 1, 64 * n_words));
        }
}

LOWTIDE_TEST(bit_dot_of_whole_matrices_is_exact_on_integers_either_way_round) {
  for (std::size_t width : {1, 2}) {
    const Drawn a = draw(140, 1100, 1, 1), b = draw(35, 1100 / width, 4, width, 3);
    std::vector<float> out(140 * 35, NAN), other(140 * 35, NAN);
    CHECK(weights_suffice(1100, b.book.data(), b.book.size()), where(active_isa(), 4, 1100));
    bit_dot(a.matrix(), b.matrix(), {out.data(), 35, 1});
    bit_dot(a.matrix(), b.matrix(), {other.data(), 1, 140});
    bool same = true;
    for (std::size_t i = 0; i < 140; ++i)
      for (std::size_t j = 0; j < 35; ++j) {
        double sum = 0;
        for (std::size_t f = 0; f < 1100; ++f) sum += a.value(i, f) * b.value(j, f);
        same = same && out[i * 35 + j] == sum && other[j * 140 + i] == sum;
      }
    CHECK(same, where(active_isa(), 4, 1100));
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
        panel_dot(a.matrix(), a.matrix(), nullptr, true, own.data());
        panel_dot(a.matrix(), b.matrix(), nullptr, true, other.data());
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
