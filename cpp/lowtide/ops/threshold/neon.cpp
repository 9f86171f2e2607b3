// The magnitude is searched among the positive borders and the sign flips all bits of the level: up to 7 borders, so
// 4-bit levels, sit in two registers, from which tbl picks; the first halving is a compare with a broadcast. Among more, a
// load a lane says how many lie in lower cells and another looks at the next. Binds: the vector pipes, for 8 bits the
// loads. Tail: the last few projections through a padded copy.
#include "lowtide/ops/lanes_neon.hpp"
#include "lowtide/ops/threshold/lanes.hpp"

namespace lowtide::neon {
namespace {

struct V : Lanes {
  static constexpr int most_steps = 3;
  [[gnu::always_inline]] static Reg pick(const float* borders, const Int& at) { return Lanes::pick<8>(borders, at); }
};

}  // namespace

void threshold_levels(const float* v, std::size_t n, const float* scale, float factor, const LineRule& rule,
                      std::uint8_t* levels) {
  threshold_lanes::threshold_levels<V>(v, n, scale, factor, rule, levels);
}

void threshold_bits(const float* v, std::size_t n, const float* scale, float factor, std::uint64_t* row) {
  threshold_lanes::threshold_bits<V>(v, n, scale, factor, row);
}

}  // namespace lowtide::neon
