#include <cmath>

#include "lowtide/ops/encode/encode.hpp"

namespace lowtide::scalar {
namespace {

// Not finite gives NaN, which is below no border: counted like 0.
float even_fraction(float u) { return std::fabs(u - std::rint(u)); }

float fraction(float u) {
  const float f = u - std::floor(u);
  return f < 1.0f ? f : 0.0f;
}

unsigned count_below(float f, const LevelRule& rule) {
  unsigned c = 0;
  for (unsigned i = 0; i < rule.n_borders; ++i) c += rule.even ? rule.borders[i] < f : rule.borders[i] <= f;
  return c;
}

}  // namespace

void encode_levels(const float* v, std::size_t n, const float* scale, const float* offset, const LevelRule& rule,
                   std::uint8_t* levels) {
  for (std::size_t j = 0; j < n; ++j) {
    const float product = v[j] * scale[j];
    const float t = product + offset[j];
    for (unsigned k = 0; k < rule.width; ++k) {
      const float u = t + rule.shifts[k];
      const float f = rule.even ? even_fraction(u) : fraction(u);
      *levels++ = static_cast<std::uint8_t>(rule.table[count_below(f, rule)]);
    }
  }
}

void encode_bits(const float* v, std::size_t n, const float* scale, const float* offset, const BitRule& rule,
                 std::size_t n_levels, std::uint64_t* row) {
  for (std::size_t w = 0; w < (n_levels + 63) / 64; ++w) row[w] = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const float product = v[j] * scale[j];
    const float t = product + offset[j];
    for (unsigned k = 0; k < rule.width; ++k) {
      const std::size_t level = j * rule.width + k;
      if (level >= n_levels) return;
      const bool above = even_fraction(t + rule.shifts[k]) > rule.border;
      row[level / 64] |= std::uint64_t{above == rule.flip} << (level % 64);
    }
  }
}

}  // namespace lowtide::scalar
