// What every op that starts from rows takes, and its checks.
#pragma once

#include <algorithm>
#include <optional>

#include "checks.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/rows.hpp"

namespace lowtide {

using Input = StridedMatrix<const float>;
using Blocks = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Layout = std::optional<Blocks>;
using Floats = Vector<const float>;
using Bytes = Vector<const std::uint8_t>;

inline bool is_block_size(std::size_t dim) { return dim >= 64 && (dim & (dim - 1)) == 0; }

inline Rows rows_of(const Input& X, const Layout& layout, const Floats& scale) {
  const std::size_t n = X.shape(0), n_features = X.shape(1), p = scale.shape(0);
  require(p >= 1, "scale must have at least one frequency");
  require(n == 0 || n_features <= 1 || X.stride(1) == 1,
          "the entries of a row of X must be contiguous: pass a C-ordered array");
  check_aligned(X, "X must be aligned to its items: pass a copy");
  check_aligned(scale, "scale must be aligned to its items: pass a copy");
  Rows rows{X.data(), X.stride(0), n, n_features, nullptr, 0, 0, p, nullptr};
  if (!layout) {
    require(n_features == p, "without a layout X holds projected values and must have as many columns as scale");
    return rows;
  }
  check_aligned(*layout, "layout must be aligned to its items: pass a copy");
  if (layout->shape(2) == panel_width) {
    rows.panels = layout->data();
    require(layout->shape(1) == n_features, "panels must have the shape (n_panels, columns of X, 16)");
    require(layout->shape(0) == (p + panel_width - 1) / panel_width,
            "panels must be ceil(p / 16), p the length of scale");
    return rows;
  }
  rows.blocks = layout->data();
  rows.n_blocks = layout->shape(0);
  rows.dim = layout->shape(2);
  require(layout->shape(1) == 3, "blocks must have the shape (n_blocks, 3, D)");
  require(is_block_size(rows.dim), "the size D of a block must be a power of two, at least 64");
  require(n_features <= rows.dim, "X must have at most D columns, D the size of a block");
  require(p <= rows.n_blocks * rows.dim, "scale must have at most n_blocks * D frequencies");
  return rows;
}

inline void check_offset(const Floats& offset, const Rows& rows) {
  require(offset.shape(0) == rows.n_frequencies, "offset must have as many entries as scale");
  check_aligned(offset, "offset must be aligned to its items: pass a copy");
}

inline void check_components(const Floats& shifts, const Rows& rows, std::size_t n_components) {
  const std::size_t width = shifts.shape(0), p = rows.n_frequencies;
  require(width >= 1 && width <= max_width, "shifts must have 1 to 8 entries");
  check_aligned(shifts, "shifts must be aligned to its items: pass a copy");
  require(n_components > (p - 1) * width && n_components <= p * width,
          "the levels or components asked for must need all frequencies and no more: p = ceil(n / len(shifts))");
}

inline std::size_t levels_of(const Slice& slice, unsigned width, std::size_t n_levels) {
  return std::min(slice.count * width, n_levels - slice.first * width);
}

}  // namespace lowtide
