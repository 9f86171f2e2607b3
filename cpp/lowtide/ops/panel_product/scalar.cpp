#include <bit>
#include <cmath>
#include <cstdint>

#include "lowtide/ops/panel_product/panel_product.hpp"

namespace lowtide::scalar {
namespace {

#if defined(__MINGW32__)
// MinGW's fmaf rounds twice. The product of two floats is exact in double; where their sum with the third is not, it is
// rounded to the odd one of its neighbors, after which rounding to float is right.
float fused(float a, float b, float c) {
  const double product = static_cast<double>(a) * b, sum = product + c, part = sum - product;
  const double rest = (product - (sum - part)) + (c - part);
  std::uint64_t bits = std::bit_cast<std::uint64_t>(sum);
  if (std::isfinite(sum) && rest != 0.0 && bits % 2 == 0) bits += (rest > 0.0) == (sum > 0.0) ? 1 : -1;
  return static_cast<float>(std::bit_cast<double>(bits));
}
#else
float fused(float a, float b, float c) { return std::fma(a, b, c); }
#endif

}  // namespace

void panel_product(const PanelProduct& p) {
  for (std::size_t c = 0; c < p.n_panels; ++c) {
    const float* panel = p.panels + c * p.panel_stride;
    for (std::size_t r = 0; r < p.n_rows; ++r) {
      const float* a = p.a + static_cast<std::ptrdiff_t>(r) * p.a_row;
      float sum[panel_width] = {};
      for (std::size_t k = 0; k < p.depth; ++k)
        for (std::size_t l = 0; l < panel_width; ++l)
          sum[l] = fused(a[static_cast<std::ptrdiff_t>(k) * p.a_step], panel[panel_width * k + l], sum[l]);
      float* out = p.out + r * p.out_stride + panel_width * c;
      for (std::size_t l = 0; l < panel_width; ++l) out[l] = p.add ? out[l] + sum[l] : sum[l];
    }
  }
}

}  // namespace lowtide::scalar
