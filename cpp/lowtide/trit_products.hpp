// Products of matrices of trits with each other, from exact sums of -1, 0 and 1.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lowtide {

// Packed 2-bit levels whose codebook is (0, value, -value, 0): level 3 counts as 0.
struct TritMatrix {
  const std::uint64_t* rows;
  std::size_t n_rows;
  std::size_t n_levels;
  double value;
};

// out (n_levels, n_levels) = D' D. n_rows < 2^31. Buffers: the bits rearranged, 2 bits (AVX2: 4) a trit of at most
// 32640 rows, and 4 bytes a pair of levels.
template <typename T>
void trit_gram(const TritMatrix& trits, T* out);

// out (a.n_rows, b.n_rows) = A B', equal n_levels. Of rows with themselves only the upper triangle is summed. Buffers:
// at most 5 MB a thread.
template <typename T>
void trit_dot(const TritMatrix& a, const TritMatrix& b, T* out);

}  // namespace lowtide
