#include <algorithm>
#include <initializer_list>
#include <random>

#include "check.hpp"
#include "lowtide/ops.hpp"

namespace {

using lowtide::Isa;
using lowtide::Pair;
using lowtide::panel_width;

struct Case {
  std::size_t n_rows, n_panels, depth;
  bool add, transposed;
};

// Whole numbers with many at either end, so that sums of the largest depth come close to what 32 bits hold.
std::vector<Pair> draw(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> number(-4000, 4000);
  std::vector<Pair> pairs(n);
  constexpr int most = static_cast<int>(lowtide::kPairMost);
  for (Pair& pair : pairs)
    for (std::int16_t& term : pair.term) term = static_cast<std::int16_t>(std::clamp(number(random), -most, most));
  return pairs;
}

// `a` as rows of a matrix, or as columns of one panel; one pair off alignment everywhere.
std::vector<float> run(Isa level, const Case& c, bool largest = false) {
  const std::size_t a_size = c.transposed ? panel_width * c.depth : (c.depth + 3) * c.n_rows;
  auto a = draw(a_size + 1, 1), panels = draw((panel_width * c.depth + 16) * c.n_panels + 1, 2);
  if (largest)
    for (auto* all : {&a, &panels})
      for (Pair& pair : *all) pair = {{2047, 2047}};
  std::vector<float> out((panel_width * c.n_panels + 5) * c.n_rows + 1, 0.5f);
  lowtide::PairProduct product{};
  product.a = a.data() + 1;
  product.a_row = c.transposed ? 1 : static_cast<std::ptrdiff_t>(c.depth + 3);
  product.a_step = c.transposed ? static_cast<std::ptrdiff_t>(panel_width) : 1;
  product.n_rows = c.n_rows;
  product.panels = panels.data() + 1;
  product.panel_stride = panel_width * c.depth + 16;
  product.n_panels = c.n_panels;
  product.depth = c.depth;
  product.out = out.data() + 1;
  product.out_stride = panel_width * c.n_panels + 5;
  product.add = c.add;
  lowtide::ops_at(level).pair_product.multiply(product);
  return out;
}

std::string where(Isa level, std::size_t n, std::size_t width) {
  return std::to_string(n) + " levels of width " + std::to_string(width) + " at " + lowtide::isa_name(level);
}

}  // namespace

LOWTIDE_TEST(pair_product_gives_the_bits_of_scalar_at_every_level) {
  for (std::size_t n_rows : {0, 1, 2, 3, 5, 7, 8, 9, 13, 16})
    for (std::size_t n_panels : {0, 1, 2, 3, 4, 7})
      for (std::size_t depth : {0, 1, 2, 17})
        for (bool add : {false, true})
          for (bool transposed : {false, true}) {
            const Case c{n_rows, n_panels, depth, add, transposed};
            const auto truth = run(Isa::scalar, c);
            for (Isa level : lowtide::check::runnable_levels())
              CHECK(lowtide::check::same_bits(truth, run(level, c)), std::to_string(n_rows) + " rows, " +
                                                                         std::to_string(n_panels) + " panels at " +
                                                                         lowtide::isa_name(level));
          }
}

LOWTIDE_TEST(pair_product_of_the_largest_numbers_and_depth_fits_32_bits) {
  for (Isa level : lowtide::check::runnable_levels()) {
    const Case c{1, 1, lowtide::kPairDepth, false, false};
    CHECK(run(level, c, true)[1] == 2.0f * 2047 * 2047 * 256, lowtide::isa_name(level));
  }
}

LOWTIDE_TEST(pair_product_looks_levels_up) {
  std::mt19937 random(3);
  for (Isa level : lowtide::check::runnable_levels())
    for (std::size_t width : {1, 2})
      for (std::size_t n : {16, 48, 256}) {
        lowtide::PairBook book{{}, width};
        for (std::size_t v = 0; v < 16; ++v)
          for (std::size_t p = 0; p < 2; ++p)
            book.value[p][v] = p < width ? static_cast<std::int16_t>(random() % 4095) - 2047 : book.value[0][v];
        std::vector<std::uint8_t> levels(panel_width * n);
        for (std::uint8_t& one : levels) one = static_cast<std::uint8_t>(random() % 16);
        const std::size_t F = n * width, stride = panel_width / 2 * panel_width;
        std::vector<Pair> panel(F / 2 * panel_width), rows(F * panel_width / 2), line(F / 2);
        const lowtide::PairOp& op = lowtide::ops_at(level).pair_product;
        op.columns(levels.data(), n, n, book, panel.data());
        for (std::size_t l = 0; l < panel_width; l += 2)
          op.rows(levels.data() + l * n, levels.data() + (l + 1) * n, n, book, rows.data() + l / 2 * panel_width,
                  stride);
        bool same = true;
        for (std::size_t l = 0; l < panel_width; ++l) {
          op.line(levels.data() + l * n, n, book, line.data());
          for (std::size_t f = 0; f < F; ++f) {
            const std::int16_t value = book.value[f % width][levels[l * n + f / width]];
            same = same && line[f / 2].term[f % 2] == value && panel[f / 2 * panel_width + l].term[f % 2] == value &&
                   rows[f / panel_width * stride + l / 2 * panel_width + f % panel_width].term[l % 2] == value;
          }
        }
        CHECK(same, where(level, n, width));
      }
}
