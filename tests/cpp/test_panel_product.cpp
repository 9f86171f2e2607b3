#include <cmath>
#include <random>

#include "check.hpp"
#include "lowtide/ops.hpp"

namespace {

using lowtide::Isa;
using lowtide::panel_width;

struct Case {
  std::size_t n_rows, n_panels, depth;
  bool add, transposed;
};

// `a` as rows of a matrix, or as columns of one panel; one float off alignment everywhere.
std::vector<float> run(Isa level, const Case& c) {
  std::mt19937 random(static_cast<unsigned>(c.n_rows + 31 * c.n_panels + 977 * c.depth));
  std::normal_distribution<float> normal;
  const std::size_t a_size = c.transposed ? panel_width * c.depth : (c.depth + 3) * c.n_rows;
  std::vector<float> a(a_size + 1), panels((panel_width * c.depth + 16) * c.n_panels + 1),
      out((panel_width * c.n_panels + 5) * c.n_rows + 1, 0.5f);
  for (float& value : a) value = normal(random);
  for (float& value : panels) value = normal(random);
  lowtide::PanelProduct product{};
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
  lowtide::ops_at(level).panel_product(product);
  return out;
}

}  // namespace

LOWTIDE_TEST(panel_product_gives_the_bits_of_scalar_at_every_level) {
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

LOWTIDE_TEST(panel_product_writes_nothing_between_rows_and_adds_where_asked) {
  for (Isa level : lowtide::check::runnable_levels()) {
    const Case c{3, 2, 4, true, false};
    const auto sums = run(level, c), fresh = run(level, {3, 2, 4, false, false});
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const bool between = i == 0 || (i - 1) % 37 >= 32;
      CHECK(between ? sums[i] == 0.5f : sums[i] == 0.5f + fresh[i], std::to_string(i));
    }
  }
}
