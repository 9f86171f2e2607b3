// trit_gram: sums of products of trits, sums[j][k] += sum over rows of t_j t_k, t in {-1, 0, 1}. Exact at every level.
//
// Rows are packed 2-bit levels, 1 plus, 2 minus, 0 and 3 zero, words_per_row(n_levels, 2) words apart. Works as
// code_gram does: on an operand in the level's own order, made once and read by every pair of tiles of kGramTile
// levels:
//   operand_bytes(n_levels, n_rows)          how much there is to allocate, a multiple of 64
//   prepare(rows, n_rows, n_levels, t0, t1)  writes tiles [t0, t1); levels past the end count as zeros
//   tile(operand, n_rows, s, t)              adds the kGramTile x kGramTile sums of tiles s and t, row-major, int32
// Overflow limit: n_rows <= kTritGramRows in one operand, and all rows together below 2^31.
// Tail: levels of the last tile past n_levels give zeros; rows are filled up with zero rows.
#pragma once

#include "lowtide/ops/code_gram/code_gram.hpp"

namespace lowtide {

constexpr std::size_t kTritGramRows = 32640;  // 272 runs of 60 pairs: the AVX2 form's 16-bit sums stay below 2^16

struct TritGramOp {
  std::size_t (*operand_bytes)(std::size_t n_levels, std::size_t n_rows);
  void (*prepare)(const std::uint64_t* rows, std::size_t n_rows, std::size_t n_levels, std::size_t first_tile,
                  std::size_t last_tile, void* operand);
  void (*tile)(const void* operand, std::size_t n_rows, std::size_t s, std::size_t t, std::int32_t* sums);
};

namespace scalar {
extern const TritGramOp trit_gram;
}
namespace avx2 {
extern const TritGramOp trit_gram;
}
namespace avx512 {
extern const TritGramOp trit_gram;
}
namespace vbmi {
extern const TritGramOp trit_gram;
}
namespace neon {
extern const TritGramOp trit_gram;
}

}  // namespace lowtide
