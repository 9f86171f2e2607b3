// ternary: a sparse projection by entries -1, 0, +1 of a tile of rows, and the trits of its sums. Additions,
// subtractions and comparisons only.
//
// A tile holds kTernaryRows rows by feature, tile[k][r], every line at a multiple of 64 bytes.
//   sums   sums[j][r] = start + sum over the pluses of j of tile[k][r] - the same over its minuses, j < n_outputs, where
//          start is 0 if `first`, else what sums held. The pluses of output j are lists[starts[2j] .. starts[2j + 1]),
//          its minuses lists[starts[2j + 1] .. starts[2j + 2]). Terms are taken in the order of the lists, one by one,
//          so the levels agree bit by bit for floats too.
//   trits  word[r] = sum over j < n_outputs <= 32 of 4^j trit(sums[j][r]), trit 1 above upper[j], else 2 below
//          lower[j], else 0; with `even` 1 instead of 2.
// Overflow limit: integers wrap, so only the final sum must fit T. Tail: there is none, rows come filled up to
// kTernaryRows; trits of missing outputs are 0.
#pragma once

#include "lowtide/layout.hpp"

namespace lowtide {

constexpr std::size_t kTernaryRows = 64;

template <typename T>
struct TernaryOp {
  void (*sums)(const T* tile, const std::uint16_t* lists, const std::uint32_t* starts, std::size_t n_outputs,
               bool first, T* sums);
  void (*trits)(const T* sums, std::size_t n_outputs, const T* upper, const T* lower, bool even, std::uint64_t* words);
};

struct TernaryOps {
  TernaryOp<std::int16_t> i16;
  TernaryOp<std::int32_t> i32;
  TernaryOp<float> f32;
};

namespace scalar {
extern const TernaryOps ternary;
}
namespace avx2 {
extern const TernaryOps ternary;
}
namespace avx512 {
extern const TernaryOps ternary;
}
namespace neon {
extern const TernaryOps ternary;
}

}  // namespace lowtide
