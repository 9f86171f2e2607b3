// The operand is rows of trit_dot, whose sums bind.
#include "lowtide/ops/trit_gram/planes.hpp"

namespace lowtide::scalar {
namespace {

struct Level {
  static constexpr TransposeFn transpose = code_transpose;
  static constexpr TritSumsFn sums = trit_sums;
};

}  // namespace

const TritGramOp trit_gram = trit_planes::Planes<Level>::op;

}  // namespace lowtide::scalar
