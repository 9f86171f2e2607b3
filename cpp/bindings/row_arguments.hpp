// What every op that starts from rows takes, and its checks.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <variant>

#include "checks.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/rows.hpp"

namespace lowtide {

using Input = StridedMatrix<const float>;
using Floats = Vector<const float>;
using Bytes = Vector<const std::uint8_t>;
using Places = Vector<const std::uint32_t>;
// Blocks, panels or rotations alone; or blocks with factors of the columns, places of the outputs, or both; or nothing.
using Blocks = nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using PartedLayout = std::tuple<Blocks, std::optional<Floats>, std::optional<Places>>;
using Layout = std::optional<std::variant<Blocks, PartedLayout>>;

inline bool is_block_size(std::size_t dim) { return dim >= 64 && (dim & (dim - 1)) == 0; }

inline void take_factors(Rows& rows, const Floats& factors) {
  check_aligned(factors, "factors must be aligned to their items: pass a copy");
  require(factors.shape(0) == rows.n_features, "factors must have an entry a column of X");
  rows.factors = factors.data();
}

inline void take_places(Rows& rows, const Places& places) {
  check_aligned(places, "places must be aligned to their items: pass a copy");
  require(places.shape(0) == rows.n_frequencies, "places must have as many entries as scale");
  for (std::size_t j = 1; j < rows.n_frequencies; ++j)
    require(places.data()[j - 1] < places.data()[j], "places must rise");
  require(places.data()[rows.n_frequencies - 1] < rows.n_blocks * rows.dim, "places must be below n_blocks * D");
  rows.places = places.data();
}

inline void take_blocks(Rows& rows, const Blocks& blocks, const Floats* factors, const Places* places) {
  rows.blocks = blocks.data();
  rows.n_blocks = blocks.shape(0);
  rows.dim = blocks.shape(2);
  require(blocks.shape(1) == 3, "blocks must have the shape (n_blocks, 3, D)");
  require(is_block_size(rows.dim), "the size D of a block must be a power of two, at least 64");
  require(rows.n_features <= rows.dim, "X must have at most D columns, D the size of a block");
  require(rows.n_frequencies <= rows.n_blocks * rows.dim, "scale must have at most n_blocks * D frequencies");
  if (factors != nullptr) take_factors(rows, *factors);
  if (places != nullptr) take_places(rows, *places);
}

inline void take_panels(Rows& rows, const Blocks& panels) {
  rows.panels = panels.data();
  require(panels.shape(1) == rows.n_features, "panels must have the shape (n_panels, columns of X, 16)");
  require(panels.shape(0) == (rows.n_frequencies + panel_width - 1) / panel_width,
          "panels must be ceil(p / 16), p the length of scale");
}

// Three axes as blocks and panels have them; these have 3 and n_features entries in the middle, or 16 at the end.
inline bool is_rotations(const Blocks& layout, std::size_t n_features) {
  return layout.shape(1) >= 5 && layout.shape(1) % 2 == 1 && layout.shape(2) == n_features;
}

inline void take_rotations(Rows& rows, const Blocks& layout) {
  rows.rotations = layout.data();
  rows.n_blocks = layout.shape(0);
  rows.n_rounds = layout.shape(1) / 2 + 1;
  require(rows.n_frequencies <= rows.n_blocks * rows.n_features, "scale must have at most n_blocks * d frequencies");
}

inline Rows rows_of(const Input& X, const Layout& layout, const Floats& scale) {
  const std::size_t n = X.shape(0), n_features = X.shape(1), p = scale.shape(0);
  require(p >= 1, "scale must have at least one frequency");
  require(n == 0 || n_features <= 1 || X.stride(1) == 1,
          "the entries of a row of X must be contiguous: pass a C-ordered array");
  check_aligned(X, "X must be aligned to its items: pass a copy");
  check_aligned(scale, "scale must be aligned to its items: pass a copy");
  Rows rows{X.data(), X.stride(0), n, n_features, nullptr, 0, 0, p, nullptr, nullptr, nullptr};
  if (!layout) {
    require(n_features == p, "without a layout X holds projected values and must have as many columns as scale");
    return rows;
  }
  const auto* parted = std::get_if<PartedLayout>(&*layout);
  const Blocks& array = parted ? std::get<0>(*parted) : std::get<Blocks>(*layout);
  check_aligned(array, "layout must be aligned to its items: pass a copy");
  if (parted != nullptr) {
    const auto& [_, factors, places] = *parted;
    take_blocks(rows, array, factors ? &*factors : nullptr, places ? &*places : nullptr);
  } else if (is_rotations(array, n_features)) {
    take_rotations(rows, array);
  } else if (array.shape(2) == panel_width) {
    take_panels(rows, array);
  } else {
    take_blocks(rows, array, nullptr, nullptr);
  }
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
