#include <cmath>

#include "lowtide/ops/threshold/threshold.hpp"

namespace lowtide::scalar {

void threshold_levels(const float* v, std::size_t n, const float* scale, float factor, const LineRule& rule,
                      std::uint8_t* levels) {
  const unsigned half = rule.n_borders + 1;
  for (std::size_t j = 0; j < n; ++j) {
    const float normalized = v[j] * factor;
    const float u = normalized * scale[j];
    unsigned c = 0;
    for (unsigned i = 0; i < rule.n_borders; ++i) c += rule.borders[i] <= std::fabs(u);
    levels[j] = static_cast<std::uint8_t>(u < 0.0f ? half - 1 - c : half + c);
  }
}

void threshold_bits(const float* v, std::size_t n, const float* scale, float factor, std::uint64_t* row) {
  for (std::size_t w = 0; w < (n + 63) / 64; ++w) row[w] = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const float normalized = v[j] * factor;
    row[j / 64] |= std::uint64_t{!(normalized * scale[j] < 0.0f)} << (j % 64);
  }
}

}  // namespace lowtide::scalar
