// A codebook as panels take it, and the op that looks it up.
#pragma once

#include <cstddef>

#include "lowtide/code_products.hpp"
#include "lowtide/ops.hpp"

namespace lowtide {

class FilledBook {
 public:
  explicit FilledBook(const CodeMatrix& codes) : bits_(codes.bits), book_{{}, codes.width} {
    for (std::size_t level = 0; level < std::size_t{1} << codes.bits; ++level)
      for (std::size_t p = 0; p < codes.width; ++p) book_.value[p][level] = codes.book[level * codes.width + p];
  }

  const PanelBook& book() const { return book_; }
  const PanelFillOp& op() const { return bits_ <= 4 ? ops().panel_fill : scalar::panel_fill; }

 private:
  unsigned bits_;
  PanelBook book_;
};

}  // namespace lowtide
