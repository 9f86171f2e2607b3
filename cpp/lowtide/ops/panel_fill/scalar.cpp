#include "lowtide/ops/panel_fill/panel_fill.hpp"

namespace lowtide::scalar {
namespace {

void columns(const std::uint8_t* levels, std::size_t stride, std::size_t n, const PanelBook& book, float* panel) {
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t p = 0; p < book.width; ++p)
      for (std::size_t l = 0; l < panel_width; ++l)
        panel[(k * book.width + p) * panel_width + l] = book.value[p][levels[l * stride + k]];
}

void rows(const std::uint8_t* levels, std::size_t n, const PanelBook& book, float* panels, std::size_t panel_stride) {
  for (std::size_t j = 0; j < n * book.width; ++j)
    panels[j / panel_width * panel_stride + j % panel_width] = book.value[j % book.width][levels[j / book.width]];
}

}  // namespace

const PanelFillOp panel_fill = {columns, rows};

}  // namespace lowtide::scalar
