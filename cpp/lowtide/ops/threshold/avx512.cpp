// Up to 15 positive borders, so 5-bit levels, sit in one register, from which vpermps picks; the first halving is a
// compare with a broadcast, and the sign flips all bits of the level under a mask. Among more, a gather says how many
// lie in lower cells and another looks at the next. Bound by the vector ports, some 13 instructions for 16 levels of 4
// bits. Tail: the last few projections through a padded copy.
#include "lowtide/ops/lanes_avx512.hpp"
#include "lowtide/ops/threshold/lanes.hpp"

namespace lowtide::avx512 {
namespace {

struct V : Lanes {
  static constexpr int most_steps = 4;
  static Reg pick(const float* borders, Int at) { return _mm512_permutexvar_ps(at, _mm512_load_ps(borders)); }
};

}  // namespace

void threshold_levels(const float* v, std::size_t n, const float* scale, float factor, const LineRule& rule,
                      std::uint8_t* levels) {
  threshold_lanes::threshold_levels<V>(v, n, scale, factor, rule, levels);
}

void threshold_bits(const float* v, std::size_t n, const float* scale, float factor, std::uint64_t* row) {
  threshold_lanes::threshold_bits<V>(v, n, scale, factor, row);
}

}  // namespace lowtide::avx512
