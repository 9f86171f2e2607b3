// code_gram: co-occurrence counts of 1-bit levels, counts[j][k] += number of rows with level j and level k both 1.
// Exact at every level.
//
// Works on an operand, the rows rearranged by feature, in the level's own order, made once and read by every tile:
//   operand_bytes(n_levels, n_rows)          how much there is to allocate, a multiple of 64
//   prepare(rows, n_rows, n_levels, t0, t1)  writes tiles [t0, t1) of kGramTile levels each; rows are
//                                            words_per_row(n_levels, 1) words apart; levels past the end count as zeros
//   tile(operand, n_rows, n_levels, s, t)    adds the kGramTile x kGramTile counts of tiles s and t, row-major, uint32
// Overflow limit: n_rows <= kGramRows in one operand, and all rows together below 2^32.
// Tail: levels of the last tile past n_levels give zeros; rows are filled up with zero rows.
#pragma once

#include "lowtide/layout.hpp"

namespace lowtide {

constexpr std::size_t kGramTile = 128;
constexpr std::size_t kGramRows = 65280;  // 272 runs of 240 rows: the AVX2 form's 16-bit sums stay below 2^16

constexpr std::size_t gram_tiles(std::size_t n_levels) { return (n_levels + kGramTile - 1) / kGramTile; }

struct GramOp {
  std::size_t (*operand_bytes)(std::size_t n_levels, std::size_t n_rows);
  void (*prepare)(const std::uint64_t* rows, std::size_t n_rows, std::size_t n_levels, std::size_t first_tile,
                  std::size_t last_tile, void* operand);
  void (*tile)(const void* operand, std::size_t n_rows, std::size_t n_levels, std::size_t s, std::size_t t,
               std::uint32_t* counts);
};

namespace scalar {
extern const GramOp code_gram;
}
namespace avx2 {
extern const GramOp code_gram;
}
namespace avx512 {
extern const GramOp code_gram;
}
namespace vbmi {
extern const GramOp code_gram;
}
namespace neon {
extern const GramOp code_gram;
}

}  // namespace lowtide
