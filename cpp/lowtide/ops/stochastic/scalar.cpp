#include <bit>
#include <cmath>

#include "lowtide/ops/features/cosine.hpp"
#include "lowtide/ops/stochastic/stochastic.hpp"

namespace lowtide::scalar {
namespace {

std::uint32_t mix(std::uint32_t h) {
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  return h ^ (h >> 16);
}

float random_fraction(std::uint64_t seed, std::uint32_t component, float f) {
  const std::uint32_t low = static_cast<std::uint32_t>(seed), high = static_cast<std::uint32_t>(seed >> 32);
  const std::uint32_t key = mix(mix(component ^ low) + high);
  return static_cast<float>(mix(key ^ std::bit_cast<std::uint32_t>(f)) >> 8) * 0x1p-24f;
}

float cosine_of_fraction(float f) {
  const float y = 0.25f - std::fabs(f - std::rint(f));
  const float z = y * y;
  float p = cosine::c4 * z + cosine::c3;
  p = p * z + cosine::c2;
  p = p * z + cosine::c1;
  p = p * z + cosine::c0;
  return p * y;
}

}  // namespace

void encode_stochastic(const float* v, std::size_t n, const float* scale, const float* offset,
                       const StochasticRule& rule, std::uint32_t first, std::uint8_t* levels) {
  const float top = static_cast<float>((1u << rule.bits) - 1);
  for (std::size_t j = 0; j < n; ++j) {
    const float t = v[j] * scale[j] + offset[j];
    for (unsigned k = 0; k < rule.width; ++k) {
      const float u = t + rule.shifts[k];
      const float whole = u - std::floor(u);
      const float f = whole < 1.0f ? whole : 0.0f;
      const float place = (cosine_of_fraction(f) + 1.0f) * (0.5f * top) + random_fraction(rule.seed, first++, f);
      const float level = std::floor(place);
      *levels++ = static_cast<std::uint8_t>(level < 0.0f ? 0.0f : level > top ? top : level);
    }
  }
}

}  // namespace lowtide::scalar
