#include <algorithm>
#include <cmath>

#include "lowtide/ops/threshold/threshold.hpp"

namespace lowtide {

LineRule line_rule(const float* borders, unsigned n_borders) {
  LineRule rule{};
  rule.n_borders = n_borders;
  while ((1u << rule.n_steps) <= n_borders) ++rule.n_steps;
  for (unsigned i = 0; i <= max_line_borders; ++i) rule.borders[i] = i < n_borders ? borders[i] : NAN;
  // Cells as narrow as there is room for, so that few borders share one.
  rule.n_cells = max_line_cells;
  rule.cells = n_borders == 0 ? 1.0f : static_cast<float>(max_line_cells - 1) / borders[n_borders - 1];
  if (!std::isfinite(rule.cells)) rule.cells = 1.0f;
  unsigned in_cell[max_line_cells] = {};
  for (unsigned i = 0; i < n_borders; ++i) {
    const float at = std::min(borders[i] * rule.cells, static_cast<float>(max_line_cells - 1));
    rule.most = std::max(rule.most, ++in_cell[static_cast<unsigned>(at)]);
  }
  for (unsigned k = 1; k < max_line_cells; ++k) rule.start[k] = rule.start[k - 1] + static_cast<int>(in_cell[k - 1]);
  return rule;
}

}  // namespace lowtide
