#include <cmath>

#include "lowtide/ops/panel_product/panel_product.hpp"

namespace lowtide::scalar {

void panel_product(const PanelProduct& p) {
  for (std::size_t c = 0; c < p.n_panels; ++c) {
    const float* panel = p.panels + c * p.panel_stride;
    for (std::size_t r = 0; r < p.n_rows; ++r) {
      const float* a = p.a + static_cast<std::ptrdiff_t>(r) * p.a_row;
      float sum[panel_width] = {};
      for (std::size_t k = 0; k < p.depth; ++k)
        for (std::size_t l = 0; l < panel_width; ++l)
          sum[l] = std::fma(a[static_cast<std::ptrdiff_t>(k) * p.a_step], panel[panel_width * k + l], sum[l]);
      float* out = p.out + r * p.out_stride + panel_width * c;
      for (std::size_t l = 0; l < panel_width; ++l) out[l] = p.add ? out[l] + sum[l] : sum[l];
    }
  }
}

}  // namespace lowtide::scalar
