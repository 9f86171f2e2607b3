// ldp, add and sub (fadd, fsub): eight registers hold a line of 16-bit sums, sixteen one of 32 bits, all of the 64 rows.
// Binds: the two loads of a cycle, and the wrong guess at the end of each list, which long lines make rare. No tail.
#include "lowtide/ops/ternary/lanes.hpp"

namespace lowtide::neon {
namespace {

struct Level {
  static constexpr int bytes = 16;
};

template <typename T>
using Lanes = ternary_lanes::Lanes<Level, T>;

}  // namespace

const TernaryOps ternary = {Lanes<std::int16_t>::op, Lanes<std::int32_t>::op, Lanes<float>::op};

}  // namespace lowtide::neon
