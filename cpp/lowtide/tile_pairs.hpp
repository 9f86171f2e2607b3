// Pairs of tiles of a symmetric matrix, the upper triangle row by row.
#pragma once

#include <cstddef>
#include <vector>

namespace lowtide {

struct TilePair {
  std::size_t s, t;
};

inline std::vector<TilePair> upper_pairs(std::size_t n_tiles) {
  std::vector<TilePair> pairs;
  for (std::size_t s = 0; s < n_tiles; ++s)
    for (std::size_t t = s; t < n_tiles; ++t) pairs.push_back({s, t});
  return pairs;
}

}  // namespace lowtide
