#include "lowtide/ops/pair_product/pair_product.hpp"

namespace lowtide::scalar {
namespace {

std::int16_t value(const PairBook& book, const std::uint8_t* levels, std::size_t column) {
  return book.value[column % book.width][levels[column / book.width]];
}

void line(const std::uint8_t* levels, std::size_t n, const PairBook& book, Pair* to) {
  for (std::size_t j = 0; j < n * book.width; ++j) to[j / 2].term[j % 2] = value(book, levels, j);
}

void columns(const std::uint8_t* levels, std::size_t stride, std::size_t n, const PairBook& book, Pair* panel) {
  for (std::size_t l = 0; l < panel_width; ++l)
    for (std::size_t j = 0; j < n * book.width; ++j)
      panel[j / 2 * panel_width + l].term[j % 2] = value(book, levels + l * stride, j);
}

void rows(const std::uint8_t* first, const std::uint8_t* second, std::size_t n, const PairBook& book, Pair* panels,
          std::size_t panel_stride) {
  for (std::size_t j = 0; j < n * book.width; ++j) {
    Pair& to = panels[j / panel_width * panel_stride + j % panel_width];
    to.term[0] = value(book, first, j);
    to.term[1] = value(book, second, j);
  }
}

void multiply(const PairProduct& p) {
  for (std::size_t c = 0; c < p.n_panels; ++c)
    for (std::size_t r = 0; r < p.n_rows; ++r) {
      const Pair* a = p.a + static_cast<std::ptrdiff_t>(r) * p.a_row;
      std::int32_t sum[panel_width] = {};
      for (std::size_t k = 0; k < p.depth; ++k) {
        const Pair& x = a[static_cast<std::ptrdiff_t>(k) * p.a_step];
        const Pair* y = p.panels + c * p.panel_stride + panel_width * k;
        for (std::size_t l = 0; l < panel_width; ++l) sum[l] += x.term[0] * y[l].term[0] + x.term[1] * y[l].term[1];
      }
      float* out = p.out + r * p.out_stride + panel_width * c;
      for (std::size_t l = 0; l < panel_width; ++l)
        out[l] = p.add ? out[l] + static_cast<float>(sum[l]) : static_cast<float>(sum[l]);
    }
}

}  // namespace

const PairOp pair_product = {columns, rows, line, multiply};

}  // namespace lowtide::scalar
