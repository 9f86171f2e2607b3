// Products of packed rows with packed rows: one call on two full panels.
#pragma once

#include "cases.hpp"
#include "inputs.hpp"

namespace lowtide::opcount {

constexpr std::size_t dot_words = 16;

inline Call product_of_panels(const DotOp& op) {
  const auto rows = words(kDotRows * dot_words, 4), others = words(kDotRows * dot_words, 5);
  const auto left = zeros<std::uint8_t>(op.panel_bytes(dot_words)),
             right = zeros<std::uint8_t>(op.panel_bytes(dot_words));
  op.prepare(rows.get(), kDotRows, dot_words, dot_words, left.get());
  op.prepare(others.get(), kDotRows, dot_words, dot_words, right.get());
  const auto sums = zeros<std::int32_t>(kDotRows * kDotRows);
  return [=, &op] { op.multiply({left.get(), right.get(), dot_words, kDotRows, kDotRows, false, sums.get()}); };
}

}  // namespace lowtide::opcount
