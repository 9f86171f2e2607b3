#include <algorithm>

#include "checks.hpp"
#include "lowtide/ternary.hpp"
#include "lowtide/trit_products.hpp"

using namespace nanobind::literals;

namespace lowtide {
namespace {

TernaryLists lists_of(const Vector<const std::uint16_t>& lists, const Vector<const std::uint32_t>& starts,
                      std::size_t n_features, std::size_t n_outputs, std::size_t chunk) {
  check_aligned(lists, "lists must be aligned to its items: pass a copy");
  check_aligned(starts, "starts must be aligned to its items: pass a copy");
  require(n_features >= 1 && n_outputs >= 1, "there must be at least one feature and one output");
  require(chunk >= 1 && chunk <= 65536, "chunk must be from 1 to 65536");
  const std::size_t n_lists = 2 * n_outputs * ((n_features + chunk - 1) / chunk);
  require(starts.shape(0) == n_lists + 1, "starts must have 2 entries an output and chunk, and one at the end");
  const std::uint32_t* s = starts.data();
  require(std::is_sorted(s, s + n_lists + 1) && s[n_lists] <= lists.shape(0),
          "starts must ascend and end within lists");
  require(all_below(lists.data(), lists.shape(0), chunk), "lists must hold features below chunk");
  return {lists.data(), s, n_features, n_outputs, chunk};
}

template <typename X, typename T>
void encode(const StridedMatrix<const X>& rows, const Vector<const std::uint16_t>& lists,
            const Vector<const std::uint32_t>& starts, std::size_t chunk, const Vector<const T>& upper,
            const Vector<const T>& lower, bool even, const CodeRowsOut& out) {
  const std::size_t n = rows.shape(0), n_outputs = upper.shape(0);
  require(n == 0 || rows.shape(1) <= 1 || rows.stride(1) == 1,
          "the entries of a row of X must be contiguous: pass a C-ordered array");
  check_aligned(rows, "X must be aligned to its items: pass a copy");
  check_aligned(upper, "upper must be aligned to its items: pass a copy");
  check_aligned(lower, "lower must be aligned to its items: pass a copy");
  require(lower.shape(0) == n_outputs, "lower must have as many entries as upper");
  const TernaryLists projection = lists_of(lists, starts, rows.shape(1), n_outputs, chunk);
  check_rows(out.shape(1), out.data(), n_outputs, 2);
  require(out.shape(0) == n, "out must have as many rows as X");
  const Unlocked unlocked;
  ternary_encode<X, T>({rows.data(), rows.stride(0), n}, projection, upper.data(), lower.data(), even,
                       reinterpret_cast<std::uint64_t*>(out.data()));
}

TritMatrix trit_matrix(const CodeRows& rows, std::size_t n_levels, double value) {
  check_rows(rows.shape(1), rows.data(), n_levels, 2);
  require(n_levels < std::size_t{1} << 31, "there must be fewer than 2^31 trits a row");
  return {reinterpret_cast<const std::uint64_t*>(rows.data()), rows.shape(0), n_levels, value};
}

template <typename T>
void gram(const CodeRows& rows, std::size_t n_levels, double value, const Matrix<T>& out) {
  const TritMatrix trits = trit_matrix(rows, n_levels, value);
  require(trits.n_rows < std::size_t{1} << 31, "trit_gram sums rows in 31 bits: give fewer than 2^31 rows");
  require(out.shape(0) == n_levels && out.shape(1) == n_levels, "out must be square with n_levels rows");
  check_aligned(out, "out must be aligned to its items: pass a copy");
  const Unlocked unlocked;
  trit_gram(trits, out.data());
}

template <typename T>
void dot(const CodeRows& rows, double value, const CodeRows& other, double other_value, std::size_t n_levels,
         const Matrix<T>& out) {
  const TritMatrix a = trit_matrix(rows, n_levels, value), b = trit_matrix(other, n_levels, other_value);
  require(out.shape(0) == a.n_rows && out.shape(1) == b.n_rows, "out must be (rows of the one, rows of the other)");
  check_aligned(out, "out must be aligned to its items: pass a copy");
  const Unlocked unlocked;
  trit_dot(a, b, out.data());
}

template <typename T>
void bind_products(nb::module_& m) {
  m.def("trit_gram", &gram<T>, "rows"_a.noconvert(), "n_levels"_a, "value"_a, "out"_a.noconvert(),
        "D' D of trits with the codebook (0, value, -value, 0).");
  m.def("trit_dot", &dot<T>, "rows"_a.noconvert(), "value"_a, "other"_a.noconvert(), "other_value"_a, "n_levels"_a,
        "out"_a.noconvert(), "A B' of trits with the codebooks (0, value, -value, 0).");
}

template <typename X, typename T>
void bind(nb::module_& m) {
  m.def("ternary_encode", &encode<X, T>, "X"_a.noconvert(), "lists"_a.noconvert(), "starts"_a.noconvert(), "chunk"_a,
        "upper"_a.noconvert(), "lower"_a.noconvert(), "even"_a, "out"_a.noconvert(),
        "Rows to packed trits of a sparse ternary projection, by two thresholds an output.");
}

}  // namespace

void bind_ternary(nb::module_& m) {
  bind<float, float>(m);
  bind<std::uint8_t, std::int32_t>(m);
  bind<std::int16_t, std::int32_t>(m);
  bind_products<float>(m);
  bind_products<double>(m);
}

}  // namespace lowtide
