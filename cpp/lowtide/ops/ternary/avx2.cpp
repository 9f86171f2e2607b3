// vpaddw and vpsubw (vpaddd, vaddps) with a memory operand, four or eight registers a line. Binds: the two loads a
// cycle, and the wrong guess at the end of each list, which long lines make rare. No tail.
#include "lowtide/ops/ternary/lanes.hpp"

namespace lowtide::avx2 {
namespace {

struct Level {
  static constexpr int bytes = 32;
};

template <typename T>
using Lanes = ternary_lanes::Lanes<Level, T>;

}  // namespace

const TernaryOps ternary = {Lanes<std::int16_t>::op, Lanes<std::int32_t>::op, Lanes<float>::op};

}  // namespace lowtide::avx2
