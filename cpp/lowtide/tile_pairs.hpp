// Pairs of tiles of a matrix, and what a symmetric one has below its diagonal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace lowtide {

struct TilePair {
  std::size_t s, t;
};

// The upper triangle, row by row.
inline std::vector<TilePair> upper_pairs(std::size_t n_tiles) {
  std::vector<TilePair> pairs;
  for (std::size_t s = 0; s < n_tiles; ++s)
    for (std::size_t t = s; t < n_tiles; ++t) pairs.push_back({s, t});
  return pairs;
}

// The whole matrix, row by row.
inline std::vector<TilePair> all_pairs(std::size_t n_rows, std::size_t n_columns) {
  std::vector<TilePair> pairs;
  for (std::size_t s = 0; s < n_rows; ++s)
    for (std::size_t t = 0; t < n_columns; ++t) pairs.push_back({s, t});
  return pairs;
}

// Copies rows [i, i_end) by columns [j, j_end) of a square matrix of n columns to its other side, where they lie right of
// the diagonal. A few columns at a time: their lines stay in the cache until all rows have written to them.
template <typename T>
void mirror_tile(std::size_t n, std::size_t i, std::size_t i_end, std::size_t j, std::size_t j_end, T* out) {
  constexpr std::size_t block = 16;
  for (std::size_t x = i; x < i_end; x += block)
    for (std::size_t k = std::max(j, x + 1); k < j_end; ++k)
      for (std::size_t y = x; y < std::min({x + block, i_end, k}); ++y) out[k * n + y] = out[y * n + k];
}

}  // namespace lowtide
