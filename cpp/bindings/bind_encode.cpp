#include <nanobind/stl/optional.h>

#include <cmath>
#include <limits>
#include <optional>

#include "checks.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/parallel.hpp"
#include "lowtide/result_pages.hpp"
#include "lowtide/rows.hpp"

using namespace nanobind::literals;

namespace lowtide {
namespace {

using Input = StridedMatrix<const float>;
using Layout = std::optional<nb::ndarray<const float, nb::ndim<3>, nb::c_contig, nb::device::cpu>>;
using Floats = Vector<const float>;
using Bytes = Vector<const std::uint8_t>;

bool is_block_size(std::size_t dim) { return dim >= 64 && (dim & (dim - 1)) == 0; }

Rows rows_of(const Input& X, const Layout& layout, const Floats& scale) {
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

void check_offset(const Floats& offset, const Rows& rows) {
  require(offset.shape(0) == rows.n_frequencies, "offset must have as many entries as scale");
  check_aligned(offset, "offset must be aligned to its items: pass a copy");
}

void check_components(const Floats& shifts, const Rows& rows, std::size_t n_components) {
  const std::size_t width = shifts.shape(0), p = rows.n_frequencies;
  require(width >= 1 && width <= max_width, "shifts must have 1 to 8 entries");
  check_aligned(shifts, "shifts must be aligned to its items: pass a copy");
  require(n_components > (p - 1) * width && n_components <= p * width,
          "the levels or components asked for must need all frequencies and no more: p = ceil(n / len(shifts))");
}

void check_borders(const Floats& borders, bool even) {
  const float* b = borders.data();
  for (std::size_t i = 0; i < borders.shape(0); ++i) {
    require(i == 0 || b[i - 1] <= b[i], "borders must ascend");
    require(even ? b[i] >= 0.0f && b[i] <= 0.5f : b[i] > 0.0f && b[i] < 1.0f,
            "borders must be in [0, 1/2] if even, else between 0 and 1");
  }
}

// A table of levels by borders, as a caller gives it.
struct LevelTable {
  const Floats &shifts, &borders;
  const Bytes& table;
  bool even;
  unsigned bits;
};

void check_table(const LevelTable& t) {
  const std::size_t k = t.borders.shape(0);
  require(k <= max_borders, "there must be at most 511 borders");
  require(t.table.shape(0) == k + 1, "table must have one entry more than borders");
  check_aligned(t.borders, "borders must be aligned to its items: pass a copy");
  check_borders(t.borders, t.even);
  for (std::size_t i = 0; i <= k; ++i)
    require(t.table.data()[i] < (1u << t.bits), "table must hold levels below 2^bits");
}

LevelRule level_rule(const LevelTable& t) {
  const std::size_t k = t.borders.shape(0);
  LevelRule rule{};
  rule.width = static_cast<unsigned>(t.shifts.shape(0));
  rule.even = t.even;
  rule.n_borders = static_cast<unsigned>(k);
  while ((1u << rule.n_steps) <= k) ++rule.n_steps;
  rule.equal = !t.even && (1u << rule.n_steps) == k + 1;
  for (std::size_t i = 0; i < rule.width; ++i) rule.shifts[i] = t.shifts.data()[i];
  for (std::size_t i = 0; i <= max_borders; ++i) rule.borders[i] = i < k ? t.borders.data()[i] : HUGE_VALF;
  for (std::size_t i = 0; i < k; ++i)
    rule.equal = rule.equal && rule.borders[i] == static_cast<float>(i + 1) / static_cast<float>(k + 1);
  for (std::size_t i = 0; i <= k; ++i) rule.table[t.even ? k - i : i] = t.table.data()[i];
  return rule;
}

// The rule for ops that write bits at once, where there is one. The one above takes longer to be made than a short row
// to be encoded.
std::optional<BitRule> bit_rule(const LevelTable& t) {
  const std::size_t width = t.shifts.shape(0);
  if (t.bits != 1 || !t.even || t.borders.shape(0) != 1 || width > 2) return {};
  const std::uint8_t *table = t.table.data(), above = table[0], within = table[1];
  if (above == within) return {};
  const float *shifts = t.shifts.data(), second = width == 2 ? shifts[1] : 0.0f;
  return BitRule{static_cast<unsigned>(width), within == 0, {shifts[0], second}, t.borders.data()[0]};
}

std::uint64_t* words_at(const CodeRowsOut& out, std::size_t row, std::size_t level, unsigned bits) {
  return reinterpret_cast<std::uint64_t*>(out.data() + row * out.shape(1)) + level * bits / 64;
}

void check_out(const CodeRowsOut& out, const Rows& rows, std::size_t n_levels, unsigned bits) {
  check_rows(out.shape(1), out.data(), n_levels, bits);
  require(out.shape(0) == rows.n, "out must have as many rows as X");
}

void check_out(const Matrix<float>& out, const Rows& rows, std::size_t n_columns) {
  require(out.shape(0) == rows.n && out.shape(1) == n_columns, "out must have the rows of X and a column a component");
  check_aligned(out, "out must be aligned to its items: pass a copy");
}

std::size_t levels_of(const Slice& slice, unsigned width, std::size_t n_levels) {
  return std::min(slice.count * width, n_levels - slice.first * width);
}

void encode(const Input& X, const Layout& layout, const Floats& scale, const Floats& offset, const Floats& shifts,
            const Floats& borders, const Bytes& table, bool even, unsigned bits, std::size_t n_levels,
            const CodeRowsOut& out) {
  const Rows rows = rows_of(X, layout, scale);
  check_offset(offset, rows);
  check_components(shifts, rows, n_levels);
  check_out(out, rows, n_levels, bits);
  const LevelTable levels{shifts, borders, table, even, bits};
  check_table(levels);
  const unsigned width = static_cast<unsigned>(shifts.shape(0));
  const std::optional<BitRule> one_bit = bit_rule(levels);
  const std::optional<LevelRule> rule = one_bit ? std::nullopt : std::optional(level_rule(levels));
  nb::gil_scoped_release nogil;
  for_each_slice(rows, [&](const Slice& s) {
    const float *a = scale.data() + s.first, *b = offset.data() + s.first;
    const std::size_t n = levels_of(s, width, n_levels);
    std::uint64_t* words = words_at(out, s.row, s.first * width, bits);
    if (one_bit) return ops().encode_bits(s.v, s.count, a, b, *one_bit, n, words);
    ops().encode_levels(s.v, s.count, a, b, *rule, s.levels);
    ops().pack(s.levels, n, bits, words);
  });
}

void encode_stochastic(const Input& X, const Layout& layout, const Floats& scale, const Floats& offset,
                       const Floats& shifts, std::uint64_t seed, unsigned grid_bits, unsigned bits,
                       std::size_t n_levels, const CodeRowsOut& out) {
  const Rows rows = rows_of(X, layout, scale);
  check_offset(offset, rows);
  check_components(shifts, rows, n_levels);
  check_out(out, rows, n_levels, bits);
  // Levels of 5 to 7 bits are stored in 8.
  require(grid_bits >= 1 && grid_bits <= bits, "grid_bits must be from 1 to bits");
  const StochasticRule rule{static_cast<unsigned>(shifts.shape(0)), shifts.data(), grid_bits, seed};
  nb::gil_scoped_release nogil;
  for_each_slice(rows, [&](const Slice& s) {
    const std::size_t first = s.first * rule.width;
    ops().encode_stochastic(s.v, s.count, scale.data() + s.first, offset.data() + s.first, rule,
                            static_cast<std::uint32_t>(first), s.levels);
    ops().pack(s.levels, levels_of(s, rule.width, n_levels), bits, words_at(out, s.row, first, bits));
  });
}

LineRule checked_line_rule(const Floats& borders, unsigned bits) {
  const std::size_t k = borders.shape(0);
  check_aligned(borders, "borders must be aligned to its items: pass a copy");
  require(k <= max_line_borders && ((k + 1) & k) == 0, "there must be 2^i - 1 borders, at most 127");
  require(2 * (k + 1) <= (std::size_t{1} << bits), "bits must hold two levels more than twice the borders");
  for (std::size_t i = 0; i < k; ++i)
    require(std::isfinite(borders.data()[i]) && borders.data()[i] > (i == 0 ? 0.0f : borders.data()[i - 1]),
            "borders must be positive and ascend");
  return line_rule(borders.data(), static_cast<unsigned>(k));
}

// A row that is too short to be normalized counts as zero.
float inverse_length(float norm) { return norm >= std::numeric_limits<float>::min() ? 1.0f / norm : 0.0f; }

void threshold(const Input& X, const Layout& layout, const Floats& scale, const Floats& norms, const Floats& borders,
               unsigned bits, const CodeRowsOut& out) {
  const Rows rows = rows_of(X, layout, scale);
  const std::size_t n_levels = rows.n_frequencies;
  check_aligned(norms, "norms must be aligned to its items: pass a copy");
  require(norms.shape(0) == rows.n, "norms must have an entry a row of X");
  check_out(out, rows, n_levels, bits);
  const LineRule rule = checked_line_rule(borders, bits);
  nb::gil_scoped_release nogil;
  for_each_slice(rows, [&](const Slice& s) {
    const float *a = scale.data() + s.first, factor = inverse_length(norms.data()[s.row]);
    std::uint64_t* words = words_at(out, s.row, s.first, bits);
    if (bits == 1) return ops().threshold_bits(s.v, s.count, a, factor, words);
    ops().threshold_levels(s.v, s.count, a, factor, rule, s.levels);
    ops().pack(s.levels, s.count, bits, words);
  });
}

void norms(const Input& X, const Vector<float>& out) {
  const std::size_t n = X.shape(0), d = X.shape(1);
  require(out.shape(0) == n, "out must have an entry a row of X");
  require(n == 0 || d <= 1 || X.stride(1) == 1, "the entries of a row of X must be contiguous: pass a C-ordered array");
  check_aligned(X, "X must be aligned to its items: pass a copy");
  check_aligned(out, "out must be aligned to its items: pass a copy");
  nb::gil_scoped_release nogil;
  // Values worth waking a thread for: some 25 microseconds.
  parallel_for(n, 1 + (std::size_t{1} << 17) / (d + 1), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      out.data()[i] = ops().norm(X.data() + static_cast<std::ptrdiff_t>(i) * X.stride(0), d);
  });
}

void features(const Input& X, const Layout& layout, const Floats& scale, const Floats& offset, const Floats& shifts,
              float amplitude, std::size_t n_components, const Matrix<float>& out) {
  const Rows rows = rows_of(X, layout, scale);
  check_offset(offset, rows);
  check_components(shifts, rows, n_components);
  check_out(out, rows, n_components);
  const FeatureRule rule{static_cast<unsigned>(shifts.shape(0)), shifts.data(), amplitude,
                         out.size() * sizeof(float) >= large_result};
  nb::gil_scoped_release nogil;
  for_each_slice(rows, [&](const Slice& s) {
    ops().features(s.v, s.count, scale.data() + s.first, offset.data() + s.first, rule,
                   levels_of(s, rule.width, n_components), out.data() + s.row * n_components + s.first * rule.width);
  });
}

void turns(const Input& X, const Layout& layout, const Floats& scale, const Floats& offset, const Matrix<float>& out) {
  const Rows rows = rows_of(X, layout, scale);
  check_offset(offset, rows);
  check_out(out, rows, rows.n_frequencies);
  nb::gil_scoped_release nogil;
  for_each_slice(rows, [&](const Slice& s) {
    ops().turns(s.v, s.count, scale.data() + s.first, offset.data() + s.first,
                out.data() + s.row * rows.n_frequencies + s.first);
  });
}

void project(const Input& X, const Layout& layout, const Floats& scale, const Matrix<float>& out) {
  const Rows rows = rows_of(X, layout, scale);
  check_out(out, rows, rows.n_frequencies);
  nb::gil_scoped_release nogil;
  for_each_slice(rows, [&](const Slice& s) {
    ops().project(s.v, s.count, scale.data() + s.first, out.data() + s.row * rows.n_frequencies + s.first);
  });
}

}  // namespace

void bind_encode(nb::module_& m) {
  m.def("encode", &encode, "X"_a.noconvert(), "layout"_a.noconvert().none(), "scale"_a.noconvert(),
        "offset"_a.noconvert(), "shifts"_a.noconvert(), "borders"_a.noconvert(), "table"_a.noconvert(), "even"_a,
        "bits"_a, "n_levels"_a, "out"_a.noconvert(), "Rows to packed levels, by borders on the phase.");
  m.def("encode_stochastic", &encode_stochastic, "X"_a.noconvert(), "layout"_a.noconvert().none(),
        "scale"_a.noconvert(), "offset"_a.noconvert(), "shifts"_a.noconvert(), "seed"_a, "grid_bits"_a, "bits"_a,
        "n_levels"_a, "out"_a.noconvert(),
        "Rows to packed levels, the cosine rounded at random to 2^grid_bits values.");
  m.def("threshold", &threshold, "X"_a.noconvert(), "layout"_a.noconvert().none(), "scale"_a.noconvert(),
        "norms"_a.noconvert(), "borders"_a.noconvert(), "bits"_a, "out"_a.noconvert(),
        "Rows, divided by their norms, to packed levels, by borders on the line.");
  m.def("norms", &norms, "X"_a.noconvert(), "out"_a.noconvert(), "Rows to their Euclidean lengths.");
  m.def("features", &features, "X"_a.noconvert(), "layout"_a.noconvert().none(), "scale"_a.noconvert(),
        "offset"_a.noconvert(), "shifts"_a.noconvert(), "amplitude"_a, "n_components"_a, "out"_a.noconvert(),
        "Rows to float32 cosine features.");
  m.def("turns", &turns, "X"_a.noconvert(), "layout"_a.noconvert().none(), "scale"_a.noconvert(),
        "offset"_a.noconvert(), "out"_a.noconvert(), "Rows to phases in turns, in [0, 1).");
  m.def("project", &project, "X"_a.noconvert(), "layout"_a.noconvert().none(), "scale"_a.noconvert(),
        "out"_a.noconvert(), "Rows to scaled projections.");
}

}  // namespace lowtide
