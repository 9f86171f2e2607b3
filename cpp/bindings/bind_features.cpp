#include "lowtide/parallel.hpp"
#include "lowtide/pull_back.hpp"
#include "lowtide/result_pages.hpp"
#include "row_arguments.hpp"

using namespace nanobind::literals;

namespace lowtide {
namespace {

void check_out(const Matrix<float>& out, const Rows& rows, std::size_t n_columns) {
  require(out.shape(0) == rows.n && out.shape(1) == n_columns, "out must have the rows of X and a column a component");
  check_aligned(out, "out must be aligned to its items: pass a copy");
}

void norms(const Input& X, const Vector<float>& out) {
  const std::size_t n = X.shape(0), d = X.shape(1);
  require(out.shape(0) == n, "out must have an entry a row of X");
  require(n == 0 || d <= 1 || X.stride(1) == 1, "the entries of a row of X must be contiguous: pass a C-ordered array");
  check_aligned(X, "X must be aligned to its items: pass a copy");
  check_aligned(out, "out must be aligned to its items: pass a copy");
  const Unlocked unlocked;
  // Values worth waking a thread for: some 25 microseconds.
  parallel_for(n, 1 + (std::size_t{1} << 17) / (d + 1), [&](std::size_t begin, std::size_t end) {
    polled_blocks(begin, end, items_a_block(d), [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i)
        out.data()[i] = ops().norm(X.data() + static_cast<std::ptrdiff_t>(i) * X.stride(0), d);
    });
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
  const Unlocked unlocked;
  for_each_slice(rows, [&](const Slice& s) {
    ops().features(s.v, s.count, scale.data() + s.first, offset.data() + s.first, rule,
                   levels_of(s, rule.width, n_components), out.data() + s.row * n_components + s.first * rule.width);
  });
}

void turns(const Input& X, const Layout& layout, const Floats& scale, const Floats& offset, const Matrix<float>& out) {
  const Rows rows = rows_of(X, layout, scale);
  check_offset(offset, rows);
  check_out(out, rows, rows.n_frequencies);
  const Unlocked unlocked;
  for_each_slice(rows, [&](const Slice& s) {
    ops().turns(s.v, s.count, scale.data() + s.first, offset.data() + s.first,
                out.data() + s.row * rows.n_frequencies + s.first);
  });
}

void project(const Input& X, const Layout& layout, const Floats& scale, const Matrix<float>& out) {
  const Rows rows = rows_of(X, layout, scale);
  check_out(out, rows, rows.n_frequencies);
  const Unlocked unlocked;
  for_each_slice(rows, [&](const Slice& s) {
    ops().project(s.v, s.count, scale.data() + s.first, out.data() + s.row * rows.n_frequencies + s.first);
  });
}

void pull_back_rows(const Input& values, const Blocks& blocks, const Floats& scale, const Matrix<float>& out) {
  const std::size_t n = values.shape(0), p = scale.shape(0), dim = blocks.shape(2), d = out.shape(1);
  require(values.shape(1) == p, "values must have as many columns as scale");
  require(n == 0 || p <= 1 || values.stride(1) == 1,
          "the entries of a row of values must be contiguous: pass a C-ordered array");
  require(blocks.shape(1) == 3, "blocks must have the shape (n_blocks, 3, D)");
  require(is_block_size(dim), "the size D of a block must be a power of two, at least 64");
  require(p <= blocks.shape(0) * dim, "scale must have at most n_blocks * D frequencies");
  require(out.shape(0) == n && d <= dim, "out must have the rows of values and at most D columns");
  check_aligned(values, "values must be aligned to their items: pass a copy");
  check_aligned(blocks, "blocks must be aligned to their items: pass a copy");
  check_aligned(scale, "scale must be aligned to its items: pass a copy");
  check_aligned(out, "out must be aligned to its items: pass a copy");
  const Unlocked unlocked;
  pull_back({values.data(), values.stride(0), n, p, scale.data(), blocks.data(), dim, d, out.data()});
}

}  // namespace

void bind_features(nb::module_& m) {
  m.def("norms", &norms, "X"_a.noconvert(), "out"_a.noconvert(), "Rows to their Euclidean lengths.");
  m.def("features", &features, "X"_a.noconvert(), "layout"_a.noconvert().none(), "scale"_a.noconvert(),
        "offset"_a.noconvert(), "shifts"_a.noconvert(), "amplitude"_a, "n_components"_a, "out"_a.noconvert(),
        "Rows to float32 cosine features.");
  m.def("turns", &turns, "X"_a.noconvert(), "layout"_a.noconvert().none(), "scale"_a.noconvert(),
        "offset"_a.noconvert(), "out"_a.noconvert(), "Rows to phases in turns, in [0, 1).");
  m.def("project", &project, "X"_a.noconvert(), "layout"_a.noconvert().none(), "scale"_a.noconvert(),
        "out"_a.noconvert(), "Rows to scaled projections.");
  m.def("pull_back", &pull_back_rows, "values"_a.noconvert(), "blocks"_a.noconvert(), "scale"_a.noconvert(),
        "out"_a.noconvert(), "Values of frequencies back to rows, by the transposed transform.");
}

}  // namespace lowtide
