#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <optional>

#include "checks.hpp"
#include "lowtide/bit_dot.hpp"
#include "lowtide/code_counts.hpp"
#include "lowtide/code_products.hpp"
#include "lowtide/code_top_k.hpp"
#include "lowtide/contingency.hpp"
#include "lowtide/digit_gram.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/panel_dot.hpp"
#include "lowtide/panel_gram.hpp"
#include "lowtide/parallel.hpp"

using namespace nanobind::literals;

namespace lowtide {
namespace {

using Book = Matrix<const float>;

const std::uint64_t* words(const std::uint8_t* bytes) { return reinterpret_cast<const std::uint64_t*>(bytes); }

// Everything an op relies on: the row width, the alignment and a codebook with an entry for every level.
CodeMatrix code_matrix(const CodeRows& rows, std::size_t n_levels, unsigned bits, const Book& book) {
  require(n_levels <= std::size_t{1} << 30, "n_levels must be at most 2^30");
  check_rows(rows.shape(1), rows.data(), n_levels, bits);
  require(book.shape(0) == std::size_t{1} << bits, "book must have 2^bits entries");
  require(book.shape(1) == 1 || book.shape(1) == 2, "book must have 1 or 2 values an entry");
  return {words(rows.data()), rows.shape(0), n_levels, bits, book.data(), book.shape(1)};
}

template <typename T>
void check_shape(const Matrix<T>& array, std::size_t n_rows, std::size_t n_columns, const char* message) {
  require(array.shape(0) == n_rows && array.shape(1) == n_columns, message);
}

void pack(Matrix<const std::uint8_t> levels, unsigned bits, CodeRowsOut out) {
  const std::size_t n = levels.shape(0), n_levels = levels.shape(1);
  check_rows(out.shape(1), out.data(), n_levels, bits);
  require(out.shape(0) == n, "out must have as many rows as levels");
  const Unlocked unlocked;
  parallel_for(n, 64, [&](std::size_t begin, std::size_t end) {
    polled_blocks(begin, end, items_a_block(n_levels), [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i)
        ops().pack(levels.data() + i * n_levels, n_levels, bits,
                   reinterpret_cast<std::uint64_t*>(out.data() + i * out.shape(1)));
    });
  });
}

void unpack(CodeRows rows, unsigned bits, Matrix<std::uint8_t> out) {
  const std::size_t n = out.shape(0), n_levels = out.shape(1);
  check_rows(rows.shape(1), rows.data(), n_levels, bits);
  require(rows.shape(0) == n, "out must have as many rows as the codes");
  const Unlocked unlocked;
  parallel_for(n, 64, [&](std::size_t begin, std::size_t end) {
    polled_blocks(begin, end, items_a_block(n_levels), [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i)
        ops().unpack(words(rows.data() + i * rows.shape(1)), n_levels, bits, out.data() + i * n_levels);
    });
  });
}

template <typename T>
DecodeFn<T> decode_op() {
  if constexpr (sizeof(T) == sizeof(float))
    return ops().decode_f32;
  else
    return ops().decode_f64;
}

template <typename T>
RowProductFn<T> row_product_op() {
  if constexpr (sizeof(T) == sizeof(float))
    return ops().row_product_f32;
  else
    return ops().row_product_f64;
}

template <typename T>
void decode(CodeRows rows, std::size_t n_levels, unsigned bits, Book book, Matrix<T> out) {
  const CodeMatrix codes = code_matrix(rows, n_levels, bits, book);
  check_shape(out, codes.n_rows, n_levels * codes.width, "out must be (n_rows, n_levels * book width)");
  const Unlocked unlocked;
  const std::size_t row_words = words_per_row(n_levels, bits), stride = n_levels * codes.width;
  parallel_for(codes.n_rows, 16, [&](std::size_t begin, std::size_t end) {
    polled_blocks(begin, end, items_a_block(stride), [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i)
        decode_op<T>()(codes.rows + i * row_words, n_levels, bits, codes.book, codes.width, out.data() + i * stride);
    });
  });
}

template <typename T>
void matvec(CodeRows rows, std::size_t n_levels, unsigned bits, Book book, Matrix<const T> W, Matrix<T> out) {
  const CodeMatrix codes = code_matrix(rows, n_levels, bits, book);
  require(bits != 8, "code_matvec takes bits 1, 2, 3 or 4");
  require(W.shape(0) == n_levels * codes.width, "W must have n_levels * book width rows");
  check_shape(out, codes.n_rows, W.shape(1), "out must be (n_rows, columns of W)");
  const Unlocked unlocked;
  code_matvec(codes, W.data(), W.shape(1), out.data());
}

// Weights of a product of a row that are worth waking a thread for: some 25 microseconds.
constexpr std::size_t weights_a_share = std::size_t{1} << 18;

template <typename T>
void row_product(CodeRows rows, std::size_t n_levels, unsigned bits, Book book, Matrix<const T> columns,
                 Matrix<T> out) {
  const CodeMatrix codes = code_matrix(rows, n_levels, bits, book);
  const std::size_t n_columns = columns.shape(0), n_features = n_levels * codes.width;
  check_shape(columns, n_columns, n_features, "columns must be (columns, n_levels * book width)");
  check_shape(out, codes.n_rows, n_columns, "out must be (n_rows, columns)");
  check_aligned(columns, "columns must be aligned to their items: pass a copy");
  check_aligned(out, "out must be aligned to its items: pass a copy");
  const Unlocked unlocked;
  const std::size_t row_words = words_per_row(n_levels, bits);
  parallel_for(
      codes.n_rows, 1 + weights_a_share / (1 + n_columns * n_features), [&](std::size_t begin, std::size_t end) {
        polled_blocks(begin, end, items_a_block(n_columns * n_features), [&](std::size_t first, std::size_t last) {
          for (std::size_t i = first; i < last; ++i)
            row_product_op<T>()({codes.rows + i * row_words, n_levels, bits, codes.book, codes.width, columns.data(),
                                 n_features, n_columns, out.data() + i * n_columns});
        });
      });
}

template <typename T>
void rmatvec(CodeRows rows, std::size_t n_levels, unsigned bits, Book book, Matrix<const T> R, Matrix<T> out) {
  const CodeMatrix codes = code_matrix(rows, n_levels, bits, book);
  require(bits != 8, "code_rmatvec takes bits 1, 2, 3 or 4");
  require(R.shape(0) == codes.n_rows, "R must have as many rows as the codes");
  check_shape(out, n_levels * codes.width, R.shape(1), "out must be (n_levels * book width, columns of R)");
  const Unlocked unlocked;
  code_rmatvec(codes, R.data(), R.shape(1), out.data());
}

template <typename T>
void gram(CodeRows rows, std::size_t n_levels, Book book, Matrix<T> out) {
  const CodeMatrix codes = code_matrix(rows, n_levels, 1, book);
  const std::size_t n_features = n_levels * codes.width;
  require(codes.n_rows < std::size_t{1} << 32, "code_gram counts rows in 32 bits: give fewer than 2^32 rows");
  check_shape(out, n_features, n_features, "out must be square with n_levels * book width rows");
  const Unlocked unlocked;
  code_gram(codes, out.data());
}

using Weight = std::optional<Vector<const float>>;

void wide_gram(CodeRows rows, std::size_t n_levels, unsigned bits, Book book, const Weight& weight, bool digits,
               bool pairs, Matrix<float> out) {
  const CodeMatrix codes = code_matrix(rows, n_levels, bits, book);
  const std::size_t n_features = n_levels * codes.width;
  check_shape(out, n_features, n_features, "out must be square with n_levels * book width rows");
  require(!weight || weight->shape(0) == codes.n_rows, "weight must have an entry a row");
  if (weight) check_aligned(*weight, "weight must be aligned to its items: pass a copy");
  const Unlocked unlocked;
  if (digits && !weight && digits_suffice(codes)) return digit_gram(codes, out.data());
  panel_gram(codes, weight ? weight->data() : nullptr, pairs, out.data());
}

template <typename T>
void dot(CodeRows rows, Book book, CodeRows other, Book other_book, std::size_t n_levels, Matrix<T> out) {
  const CodeMatrix a = code_matrix(rows, n_levels, 1, book);
  const CodeMatrix b = code_matrix(other, n_levels, 1, other_book);
  require(a.width == b.width, "both codebooks must have the same width");
  check_shape(out, a.n_rows, b.n_rows, "out must be (rows of the one, rows of the other)");
  const Unlocked unlocked;
  code_dot(a, b, out.data());
}

void wide_dot(CodeRows rows, std::size_t n_levels, unsigned bits, Book book, CodeRows other, std::size_t other_levels,
              unsigned other_bits, Book other_book, const Weight& weight, bool pairs, Matrix<float> out) {
  const CodeMatrix a = code_matrix(rows, n_levels, bits, book);
  const CodeMatrix b = code_matrix(other, other_levels, other_bits, other_book);
  require(a.n_levels * a.width == b.n_levels * b.width, "both sides must have as many decoded columns");
  check_shape(out, a.n_rows, b.n_rows, "out must be (rows of the one, rows of the other)");
  require(!weight || weight->shape(0) == a.n_levels * a.width, "weight must have an entry a decoded column");
  if (weight) check_aligned(*weight, "weight must be aligned to its items: pass a copy");
  const Unlocked unlocked;
  panel_dot(a, b, weight ? weight->data() : nullptr, pairs, out.data());
}

void mixed_dot(CodeRows rows, Book book, CodeRows other, std::size_t other_levels, unsigned other_bits, Book other_book,
               bool turned, Matrix<float> out) {
  const CodeMatrix b = code_matrix(other, other_levels, other_bits, other_book);
  require(book.shape(1) == 1, "the codebook of the one-bit side must have 1 value an entry");
  const CodeMatrix a = code_matrix(rows, other_levels * b.width, 1, book);
  const std::size_t n_rows = turned ? b.n_rows : a.n_rows, n_columns = turned ? a.n_rows : b.n_rows;
  check_shape(out, n_rows, n_columns, "out must be (rows of the one, rows of the other), or turned");
  const Unlocked unlocked;
  bit_dot(a, b, turned ? DotOut{out.data(), 1, a.n_rows} : DotOut{out.data(), b.n_rows, 1});
}

bool book_suffices(std::size_t n_columns, Book book) {
  require(book.size() > 0, "book must have entries");
  return weights_suffice(n_columns, book.data(), book.size());
}

void check_best(const CodeMatrix& codes, std::size_t n_queries, const Matrix<std::int64_t>& indices,
                const Matrix<float>& scores) {
  require(indices.shape(1) >= 1 && indices.shape(1) <= codes.n_rows, "k must be from 1 to the number of rows");
  check_shape(indices, n_queries, indices.shape(1), "indices must be (queries, k)");
  check_shape(scores, n_queries, indices.shape(1), "scores must be (queries, k)");
}

using RowFloats = std::optional<Vector<const float>>;
using RowMask = std::optional<Vector<const bool>>;

RowTerms row_terms(const CodeMatrix& codes, const RowFloats& factors, const RowFloats& offsets, const RowMask& allowed,
                   std::size_t k) {
  RowTerms terms;
  require(factors.has_value() == offsets.has_value(), "factors must come with offsets");
  if (factors) {
    require(factors->shape(0) == codes.n_rows && offsets->shape(0) == codes.n_rows,
            "factors and offsets must have an entry a row");
    check_aligned(*factors, "factors must be aligned to their items: pass a copy");
    check_aligned(*offsets, "offsets must be aligned to their items: pass a copy");
    terms.factors = factors->data();
    terms.offsets = offsets->data();
  }
  if (allowed) {
    require(allowed->shape(0) == codes.n_rows, "allowed must have an entry a row");
    terms.allowed = reinterpret_cast<const std::uint8_t*>(allowed->data());
    const auto count = std::count_if(terms.allowed, terms.allowed + codes.n_rows, [](auto byte) { return byte != 0; });
    require(static_cast<std::size_t>(count) >= k, "at least k rows must be allowed");
  }
  return terms;
}

// Norms with corrections, and what their squares are multiplied by, in place of factors and offsets.
using RowLengths = std::optional<std::tuple<Vector<const float>, Vector<const float>, float>>;

void set_lengths(RowTerms& terms, const CodeMatrix& codes, const RowLengths& lengths) {
  if (!lengths) return;
  require(terms.factors == nullptr, "factors must not come with norms and corrections");
  const auto& [norms, corrections, square] = *lengths;
  require(norms.shape(0) == codes.n_rows && corrections.shape(0) == codes.n_rows,
          "norms and corrections must have an entry a row");
  check_aligned(norms, "norms must be aligned to their items: pass a copy");
  check_aligned(corrections, "corrections must be aligned to their items: pass a copy");
  terms.factors = norms.data();
  terms.divisors = corrections.data();
  terms.square = square;
}

CodeMatrix scanned(CodeRows rows, std::size_t n_levels, unsigned bits, Book book, const Matrix<const double>& queries,
                   const Matrix<std::int64_t>& indices, const Matrix<float>& scores) {
  const CodeMatrix codes = code_matrix(rows, n_levels, bits, book);
  require(bits == 1 || bits == 2 || bits == 4, "code_top_k takes bits 1, 2 or 4");
  require(n_levels * bits <= 8 * kTopKBytes, "code_top_k takes rows of at most 1024 bytes");
  require(queries.shape(1) == n_levels * codes.width, "queries must have n_levels * book width columns");
  check_best(codes, queries.shape(0), indices, scores);
  return codes;
}

void top_k(CodeRows rows, std::size_t n_levels, unsigned bits, Book book, Matrix<const double> queries, bool largest,
           Matrix<std::int64_t> indices, Matrix<float> scores, RowFloats factors, RowFloats offsets, RowMask allowed,
           RowLengths lengths) {
  const CodeMatrix codes = scanned(rows, n_levels, bits, book, queries, indices, scores);
  RowTerms terms = row_terms(codes, factors, offsets, allowed, indices.shape(1));
  set_lengths(terms, codes, lengths);
  const Unlocked unlocked;
  code_top_k(codes, terms, queries.data(), queries.shape(0), indices.shape(1), largest, indices.data(), scores.data());
}

// starts (cells + 1), read (queries, cells that each reads).
void top_k_of_cells(CodeRows rows, std::size_t n_levels, unsigned bits, Book book, Matrix<const double> queries,
                    bool largest, Matrix<std::int64_t> indices, Matrix<float> scores, RowLengths lengths,
                    Vector<const std::int64_t> names, Vector<const std::int64_t> starts,
                    Matrix<const std::int32_t> read, RowMask allowed) {
  const CodeMatrix codes = scanned(rows, n_levels, bits, book, queries, indices, scores);
  RowTerms terms;
  require(lengths.has_value(), "cells are of rows with norms and corrections");
  set_lengths(terms, codes, lengths);
  require(names.shape(0) == codes.n_rows, "names must have an entry a row");
  terms.names = names.data();
  if (allowed) {
    terms.allowed = reinterpret_cast<const std::uint8_t*>(allowed->data());
    terms.n_names = allowed->shape(0);
  }
  const std::size_t n_cells = starts.shape(0) - 1;
  require(starts.shape(0) > 1 && starts.data()[0] == 0 && std::is_sorted(starts.data(), starts.data() + n_cells + 1) &&
              static_cast<std::size_t>(starts.data()[n_cells]) == codes.n_rows,
          "starts must rise from 0 to the number of rows");
  check_shape(read, queries.shape(0), read.shape(1), "read must have a row a query");
  require(std::all_of(read.data(), read.data() + read.shape(0) * read.shape(1),
                      [&](std::int32_t c) { return c >= 0 && static_cast<std::size_t>(c) < n_cells; }),
          "read must have numbers of cells");
  const RowCells cells{starts.data(), n_cells, read.data(), read.shape(1)};
  const Unlocked unlocked;
  code_top_k(codes, terms, cells, queries.data(), queries.shape(0), indices.shape(1), largest, indices.data(),
             scores.data());
}

void top_k_codes(CodeRows rows, Book book, CodeRows other, Book other_book, std::size_t n_levels, bool largest,
                 Matrix<std::int64_t> indices, Matrix<float> scores, RowMask allowed) {
  const CodeMatrix codes = code_matrix(rows, n_levels, 1, book);
  const CodeMatrix queries = code_matrix(other, n_levels, 1, other_book);
  require(n_levels <= kTopKCounts, "code_top_k takes at most 65535 levels");
  require(codes.width == queries.width, "both codebooks must have the same width");
  require(row_contingency(codes, queries).is_symmetric(), "the product must depend on the number of equal bits alone");
  check_best(codes, queries.n_rows, indices, scores);
  const RowTerms terms = row_terms(codes, {}, {}, allowed, indices.shape(1));
  const Unlocked unlocked;
  code_top_k(codes, terms, queries, indices.shape(1), largest, indices.data(), scores.data());
}

template <typename T>
void bind_products(nb::module_& m) {
  m.def("decode", &decode<T>, "rows"_a.noconvert(), "n_levels"_a, "bits"_a, "book"_a.noconvert(), "out"_a.noconvert());
  m.def("code_matvec", &matvec<T>, "rows"_a.noconvert(), "n_levels"_a, "bits"_a, "book"_a.noconvert(),
        "W"_a.noconvert(), "out"_a.noconvert());
  m.def("row_product", &row_product<T>, "rows"_a.noconvert(), "n_levels"_a, "bits"_a, "book"_a.noconvert(),
        "columns"_a.noconvert(), "out"_a.noconvert());
  m.def("code_rmatvec", &rmatvec<T>, "rows"_a.noconvert(), "n_levels"_a, "bits"_a, "book"_a.noconvert(),
        "R"_a.noconvert(), "out"_a.noconvert());
  m.def("code_gram", &gram<T>, "rows"_a.noconvert(), "n_levels"_a, "book"_a.noconvert(), "out"_a.noconvert());
  m.def("code_dot", &dot<T>, "rows"_a.noconvert(), "book"_a.noconvert(), "other"_a.noconvert(),
        "other_book"_a.noconvert(), "n_levels"_a, "out"_a.noconvert());
}

}  // namespace

void bind_codes(nb::module_& m) {
  m.def("pack", &pack, "levels"_a.noconvert(), "bits"_a, "out"_a.noconvert(),
        "Pack levels (n, L) uint8 into rows of 8 * ceil(L * bits / 64) bytes.");
  m.def("unpack", &unpack, "rows"_a.noconvert(), "bits"_a, "out"_a.noconvert(), "The inverse of pack.");
  // Float64 is asked for first: a row that is predicted alone is in it.
  bind_products<double>(m);
  bind_products<float>(m);
  m.def("panel_gram", &wide_gram, "rows"_a.noconvert(), "n_levels"_a, "bits"_a, "book"_a.noconvert(),
        "weight"_a.noconvert().none(), "digits"_a, "pairs"_a, "out"_a.noconvert());
  m.def("panel_dot", &wide_dot, "rows"_a.noconvert(), "n_levels"_a, "bits"_a, "book"_a.noconvert(),
        "other"_a.noconvert(), "other_levels"_a, "other_bits"_a, "other_book"_a.noconvert(),
        "weight"_a.noconvert().none(), "pairs"_a, "out"_a.noconvert());
  m.def("bit_dot", &mixed_dot, "rows"_a.noconvert(), "book"_a.noconvert(), "other"_a.noconvert(), "other_levels"_a,
        "other_bits"_a, "other_book"_a.noconvert(), "turned"_a, "out"_a.noconvert());
  m.def("weights_suffice", &book_suffices, "n_columns"_a, "book"_a.noconvert());
  m.def("code_top_k", &top_k, "rows"_a.noconvert(), "n_levels"_a, "bits"_a, "book"_a.noconvert(),
        "queries"_a.noconvert(), "largest"_a, "indices"_a.noconvert(), "scores"_a.noconvert(),
        "factors"_a.noconvert().none() = nb::none(), "offsets"_a.noconvert().none() = nb::none(),
        "allowed"_a.noconvert().none() = nb::none(), "lengths"_a.none() = nb::none());
  m.def("code_top_k", &top_k_of_cells, "rows"_a.noconvert(), "n_levels"_a, "bits"_a, "book"_a.noconvert(),
        "queries"_a.noconvert(), "largest"_a, "indices"_a.noconvert(), "scores"_a.noconvert(), "lengths"_a,
        "names"_a.noconvert(), "starts"_a.noconvert(), "read"_a.noconvert(),
        "allowed"_a.noconvert().none() = nb::none());
  m.def("code_top_k", &top_k_codes, "rows"_a.noconvert(), "book"_a.noconvert(), "other"_a.noconvert(),
        "other_book"_a.noconvert(), "n_levels"_a, "largest"_a, "indices"_a.noconvert(), "scores"_a.noconvert(),
        "allowed"_a.noconvert().none() = nb::none());
}

}  // namespace lowtide
