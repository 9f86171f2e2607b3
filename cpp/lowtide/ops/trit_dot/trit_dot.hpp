// trit_dot: dot products of packed rows of trits, sums[i][j] += sum over k of a_ik b_jk, a, b in {-1, 0, 1}. Exact: with
// the masks of trits that are not 0 and of minuses,
//   a . b = popcount(both) - 2 popcount(both AND (minus_a XOR minus_b)),   both = nonzero_a AND nonzero_b.
//
// Rows are packed 2-bit levels, 1 plus, 2 minus, 0 and 3 zero. Works on panels as code_dot does, n_words counting packed
// words. Overflow limit: fewer than 2^31 trits a row in all calls that add to the same sums. Tail as in code_dot.
#pragma once

#include "lowtide/ops/code_dot/code_dot.hpp"

namespace lowtide {

namespace scalar {
extern const DotOp trit_dot;
}
namespace avx2 {
extern const DotOp trit_dot;
}
namespace avx512 {
extern const DotOp trit_dot;
}
namespace vbmi {
extern const DotOp trit_dot;
}
namespace neon {
extern const DotOp trit_dot;
}

}  // namespace lowtide
