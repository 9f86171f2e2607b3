// What is counted: one call of an op on inputs of a fixed size, the same in every run.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "lowtide/ops.hpp"

namespace lowtide::opcount {

using Call = std::function<void()>;

// name: the op as `Ops` spells it, then a space and the variant if there are several. elements, unit: what one count is
// divided by to be read. bind: makes inputs and outputs, and all that the op itself does not do, for the ops of a
// level.
struct Case {
  std::string name;
  std::size_t elements;
  const char* unit;
  std::function<Call(const Ops&)> bind;
};

using Cases = std::vector<Case>;

void add_projections(Cases& cases);
void add_quantizers(Cases& cases);
void add_layouts(Cases& cases);
void add_products(Cases& cases);
void add_grams(Cases& cases);
void add_trits(Cases& cases);
void add_scans(Cases& cases);
void add_checksums(Cases& cases);

}  // namespace lowtide::opcount
