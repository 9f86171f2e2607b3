// Products of two bit strings from counts: what a pair of equal or different bits is worth.
#pragma once

#include <cstddef>

#include "lowtide/code_products.hpp"

namespace lowtide {

// sum over a, b of weight[a][b] N_ab, from the count of common ones and the counts of ones of either side.
struct Contingency {
  double weight[2][2];

  // Of a table with equal weights off its diagonal the same, to the bit, when the sides change places.
  double value(double n, double ones_a, double ones_b, double both) const {
    return weight[1][1] * both + (weight[1][0] * (ones_a - both) + weight[0][1] * (ones_b - both)) +
           weight[0][0] * (n - (ones_a + ones_b) + both);
  }

  // Whether only the number of different bits matters.
  bool is_symmetric() const { return weight[0][0] == weight[1][1] && weight[0][1] == weight[1][0]; }

  // The value of a symmetric table. Monotone in `different` even as rounded, so equal counts are equal scores and no
  // larger count ever passes a smaller one.
  double at_distance(double n, double different) const {
    return weight[1][1] * (n - different) + weight[0][1] * different;
  }
};

// The table of a product of rows, row of a by row of b, bits 1 and equal widths.
inline Contingency row_contingency(const CodeMatrix& a, const CodeMatrix& b) {
  Contingency table{};
  for (std::size_t x = 0; x < 2; ++x)
    for (std::size_t y = 0; y < 2; ++y)
      for (std::size_t p = 0; p < a.width; ++p)
        table.weight[x][y] +=
            static_cast<double>(a.book[x * a.width + p]) * static_cast<double>(b.book[y * b.width + p]);
  return table;
}

}  // namespace lowtide
