// Three rounds of mixing a component bind (six 32-bit multiplications). Tail: the last few frequencies through a padded
// copy.
#include "lowtide/ops/lanes_neon.hpp"
#include "lowtide/ops/stochastic/lanes.hpp"

namespace lowtide::neon {

void encode_stochastic(const float* v, std::size_t n, const float* scale, const float* offset,
                       const StochasticRule& rule, std::uint32_t first, std::uint8_t* levels) {
  stochastic_lanes::encode_stochastic<Lanes>(v, n, scale, offset, rule, first, levels);
}

}  // namespace lowtide::neon
