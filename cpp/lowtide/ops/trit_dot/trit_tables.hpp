// Products of pairs of trits as tables of nibbles.
#pragma once

#include "lowtide/ops/code_dot/nibbles.hpp"

namespace lowtide::nibbles {

// The sum of two products of trits, plus 2: from 0 to 4.
constexpr Tables of_trits() {
  constexpr int trit[4] = {0, 1, -1, 0};
  Tables tables{};
  for (unsigned a = 0; a < 16; ++a)
    for (unsigned v = 0; v < 16; ++v)
      tables.entry[a][v] = static_cast<std::uint8_t>(2 + trit[a & 3] * trit[v & 3] + trit[a >> 2] * trit[v >> 2]);
  return tables;
}

}  // namespace lowtide::nibbles
