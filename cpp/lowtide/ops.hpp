// The table of ops: one function pointer an op, filled once by walking down from the active level.
#pragma once

#include "lowtide/isa.hpp"
#include "lowtide/ops/pack/pack.hpp"

namespace lowtide {

struct Ops {
  PackFn pack;
  UnpackFn unpack;
};

// The ops of one level; where a level has no form of its own, the next lower one's. The level must be runnable here.
const Ops& ops_at(Isa level);

// The ops in force.
const Ops& ops();

}  // namespace lowtide
