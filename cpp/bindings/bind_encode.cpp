#include <cmath>
#include <limits>
#include <optional>

#include "lowtide/buffer.hpp"
#include "row_arguments.hpp"

using namespace nanobind::literals;

namespace lowtide {
namespace {

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
  require(is_stored_width(t.bits), "bits must be 1, 2, 3, 4 or 8");
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

// Where packed rows go: level l of row i at a whole word.
struct Words {
  std::uint64_t* rows;
  std::size_t row_words;
  std::uint64_t* at(std::size_t row, std::size_t level, unsigned bits) const {
    return rows + row * row_words + level * bits / 64;
  }
};

Words words_of(const CodeRowsOut& out) {
  return {reinterpret_cast<std::uint64_t*>(out.data()), out.shape(1) / sizeof(std::uint64_t)};
}

void check_out(const CodeRowsOut& out, const Rows& rows, std::size_t n_levels, unsigned bits) {
  check_rows(out.shape(1), out.data(), n_levels, bits);
  require(out.shape(0) == rows.n, "out must have as many rows as X");
}

// Rows to levels by borders on the phase, packed: what is asked for, checked.
class ByBorders {
 public:
  ByBorders(const Rows& rows, const Floats& scale, const Floats& offset, const LevelTable& levels, std::size_t n_levels)
      : rows_(rows), scale_(scale.data()), offset_(offset.data()), bits_(levels.bits), n_levels_(n_levels) {
    check_offset(offset, rows);
    check_components(levels.shifts, rows, n_levels);
    check_table(levels);
    width_ = static_cast<unsigned>(levels.shifts.shape(0));
    one_bit_ = bit_rule(levels);
    if (!one_bit_) rule_ = level_rule(levels);
  }

  void operator()(const Words& out) const {
    for_each_slice(rows_, [&](const Slice& s) {
      const float *a = scale_ + s.first, *b = offset_ + s.first;
      const std::size_t n = levels_of(s, width_, n_levels_);
      std::uint64_t* words = out.at(s.row, s.first * width_, bits_);
      if (one_bit_) return ops().encode_bits(s.v, s.count, a, b, *one_bit_, n, words);
      ops().encode_levels(s.v, s.count, a, b, *rule_, s.levels);
      ops().pack(s.levels, n, bits_, words);
    });
  }

 private:
  const Rows& rows_;
  const float *scale_, *offset_;
  unsigned bits_, width_;
  std::size_t n_levels_;
  std::optional<BitRule> one_bit_;
  std::optional<LevelRule> rule_;
};

// Rows to levels by rounding the cosine at random, packed.
class AtRandom {
 public:
  AtRandom(const Rows& rows, const Floats& scale, const Floats& offset, const StochasticRule& rule,
           const Floats& shifts, unsigned bits, std::size_t n_levels)
      : rows_(rows), scale_(scale.data()), offset_(offset.data()), rule_(rule), bits_(bits), n_levels_(n_levels) {
    check_offset(offset, rows);
    check_components(shifts, rows, n_levels);
    // Levels of 5 to 7 bits are stored in 8.
    require(rule.bits >= 1 && rule.bits <= bits, "grid_bits must be from 1 to bits");
  }

  void operator()(const Words& out) const {
    for_each_slice(rows_, [&](const Slice& s) {
      const std::size_t first = s.first * rule_.width;
      ops().encode_stochastic(s.v, s.count, scale_ + s.first, offset_ + s.first, rule_,
                              static_cast<std::uint32_t>(first), s.levels);
      ops().pack(s.levels, levels_of(s, rule_.width, n_levels_), bits_, out.at(s.row, first, bits_));
    });
  }

 private:
  const Rows& rows_;
  const float *scale_, *offset_;
  const StochasticRule rule_;
  unsigned bits_;
  std::size_t n_levels_;
};

// What levels are worth to a linear model: D w + b with D[j w + p] = book[level_j w + p].
struct Scores {
  const Matrix<const float>& book;
  const Matrix<const double>& columns;
  const Vector<const double>& intercept;
  const Matrix<double>& out;
};

void check_scores(const Scores& scores, const Rows& rows, std::size_t n_levels, unsigned bits) {
  const std::size_t k = scores.columns.shape(0), width = scores.book.shape(1);
  require(is_stored_width(bits), "bits must be 1, 2, 3, 4 or 8");
  require(scores.book.shape(0) == std::size_t{1} << bits, "book must have 2^bits entries");
  require(width == 1 || width == 2, "book must have 1 or 2 values an entry");
  require(scores.columns.shape(1) == n_levels * width, "columns must be (columns, n_levels * book width)");
  require(scores.intercept.shape(0) == k, "intercept must have an entry a column");
  require(scores.out.shape(0) == rows.n && scores.out.shape(1) == k, "out must be (rows of X, columns)");
  check_aligned(scores.book, "book must be aligned to its items: pass a copy");
  check_aligned(scores.columns, "columns must be aligned to their items: pass a copy");
  check_aligned(scores.intercept, "intercept must be aligned to its items: pass a copy");
  check_aligned(scores.out, "out must be aligned to its items: pass a copy");
}

template <class Encoding>
void score(const Encoding& encode_rows, const Rows& rows, std::size_t n_levels, unsigned bits, const Scores& scores) {
  check_scores(scores, rows, n_levels, bits);
  const Unlocked unlocked;
  const std::size_t row_words = words_per_row(n_levels, bits), k = scores.columns.shape(0);
  const auto packed = make_buffer<std::uint64_t>(rows.n * row_words);
  encode_rows(Words{packed.get(), row_words});
  const auto score_row = [&](std::size_t i) {
    double* out = scores.out.data() + i * k;
    ops().row_product_f64({packed.get() + i * row_words, n_levels, bits, scores.book.data(), scores.book.shape(1),
                           scores.columns.data(), scores.columns.shape(1), k, out});
    for (std::size_t c = 0; c < k; ++c) out[c] += scores.intercept.data()[c];
  };
  polled_blocks(0, rows.n, items_a_block(k * scores.columns.shape(1)), [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) score_row(i);
  });
}

void encode(const Input& X, const Layout& layout, const Floats& scale, const Floats& offset, const Floats& shifts,
            const Floats& borders, const Bytes& table, bool even, unsigned bits, std::size_t n_levels,
            const CodeRowsOut& out) {
  const Rows rows = rows_of(X, layout, scale);
  check_out(out, rows, n_levels, bits);
  const ByBorders encode_rows(rows, scale, offset, {shifts, borders, table, even, bits}, n_levels);
  const Unlocked unlocked;
  encode_rows(words_of(out));
}

void score_encoded(const Input& X, const Layout& layout, const Floats& scale, const Floats& offset,
                   const Floats& shifts, const Floats& borders, const Bytes& table, bool even, unsigned bits,
                   std::size_t n_levels, const Matrix<const float>& book, const Matrix<const double>& columns,
                   const Vector<const double>& intercept, const Matrix<double>& out) {
  const Rows rows = rows_of(X, layout, scale);
  const ByBorders encode_rows(rows, scale, offset, {shifts, borders, table, even, bits}, n_levels);
  score(encode_rows, rows, n_levels, bits, {book, columns, intercept, out});
}

void encode_stochastic(const Input& X, const Layout& layout, const Floats& scale, const Floats& offset,
                       const Floats& shifts, std::uint64_t seed, unsigned grid_bits, unsigned bits,
                       std::size_t n_levels, const CodeRowsOut& out) {
  const Rows rows = rows_of(X, layout, scale);
  check_out(out, rows, n_levels, bits);
  const StochasticRule rule{static_cast<unsigned>(shifts.shape(0)), shifts.data(), grid_bits, seed};
  const AtRandom encode_rows(rows, scale, offset, rule, shifts, bits, n_levels);
  const Unlocked unlocked;
  encode_rows(words_of(out));
}

void score_stochastic(const Input& X, const Layout& layout, const Floats& scale, const Floats& offset,
                      const Floats& shifts, std::uint64_t seed, unsigned grid_bits, unsigned bits, std::size_t n_levels,
                      const Matrix<const float>& book, const Matrix<const double>& columns,
                      const Vector<const double>& intercept, const Matrix<double>& out) {
  const Rows rows = rows_of(X, layout, scale);
  const StochasticRule rule{static_cast<unsigned>(shifts.shape(0)), shifts.data(), grid_bits, seed};
  const AtRandom encode_rows(rows, scale, offset, rule, shifts, bits, n_levels);
  score(encode_rows, rows, n_levels, bits, {book, columns, intercept, out});
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

// Products of what levels are worth with what they stand for: both floats, so that a product is exact in double, and
// sixteen sums in a fixed order.
double worth_of(const unsigned char* levels, const float* v, const float* scale, float factor, const float* values,
                std::size_t n) {
  double sums[16] = {};
  for (std::size_t j = 0; j < n; ++j) sums[j % 16] += double{values[levels[j]]} * double{v[j] * scale[j] * factor};
  for (std::size_t half = 8; half >= 1; half /= 2)
    for (std::size_t j = 0; j < half; ++j) sums[j] += sums[j + half];
  return sums[0];
}

// Where the products of levels with projections go, a row each, and the values of the levels.
struct Products {
  std::optional<Floats> values;
  std::optional<Vector<double>> out;
};

void check_products(const Products& products, const Rows& rows, unsigned bits) {
  require(products.values.has_value() == products.out.has_value(), "values must come with products");
  if (!products.values) return;
  require(products.values->shape(0) == std::size_t{1} << bits, "values must have 2^bits entries");
  require(products.out->shape(0) == rows.n, "products must have an entry a row of X");
  check_aligned(*products.values, "values must be aligned to their items: pass a copy");
  check_aligned(*products.out, "products must be aligned to their items: pass a copy");
}

void threshold(const Input& X, const Layout& layout, const Floats& scale, const Floats& norms, const Floats& borders,
               unsigned bits, const CodeRowsOut& out, std::optional<Floats> values,
               std::optional<Vector<double>> products_out) {
  const Rows rows = rows_of(X, layout, scale);
  const std::size_t n_levels = rows.n_frequencies;
  check_aligned(norms, "norms must be aligned to its items: pass a copy");
  require(norms.shape(0) == rows.n, "norms must have an entry a row of X");
  check_out(out, rows, n_levels, bits);
  const Products products{values, products_out};
  check_products(products, rows, bits);
  const LineRule rule = checked_line_rule(borders, bits);
  const Words packed = words_of(out);
  if (products.out) std::fill_n(products.out->data(), rows.n, 0.0);
  const Unlocked unlocked;
  for_each_slice(rows, [&](const Slice& s) {
    const float *a = scale.data() + s.first, factor = inverse_length(norms.data()[s.row]);
    std::uint64_t* words = packed.at(s.row, s.first, bits);
    if (bits == 1 && !products.out) return ops().threshold_bits(s.v, s.count, a, factor, words);
    if (bits == 1) {
      ops().threshold_bits(s.v, s.count, a, factor, words);
      ops().unpack(words, s.count, 1, s.levels);
    } else {
      ops().threshold_levels(s.v, s.count, a, factor, rule, s.levels);
      ops().pack(s.levels, s.count, bits, words);
    }
    // The slices of a row come one after the other.
    if (products.out)
      products.out->data()[s.row] += worth_of(s.levels, s.v, a, factor, products.values->data(), s.count);
  });
}

}  // namespace

void bind_encode(nb::module_& m) {
  m.def("encode", &encode, "X"_a.noconvert(), "layout"_a.noconvert().none(), "scale"_a.noconvert(),
        "offset"_a.noconvert(), "shifts"_a.noconvert(), "borders"_a.noconvert(), "table"_a.noconvert(), "even"_a,
        "bits"_a, "n_levels"_a, "out"_a.noconvert(), "Rows to packed levels, by borders on the phase.");
  m.def("encode", &score_encoded, "X"_a.noconvert(), "layout"_a.noconvert().none(), "scale"_a.noconvert(),
        "offset"_a.noconvert(), "shifts"_a.noconvert(), "borders"_a.noconvert(), "table"_a.noconvert(), "even"_a,
        "bits"_a, "n_levels"_a, "book"_a.noconvert(), "columns"_a.noconvert(), "intercept"_a.noconvert(),
        "out"_a.noconvert(), "Rows to scores, the products of their levels with weights.");
  m.def("encode_stochastic", &encode_stochastic, "X"_a.noconvert(), "layout"_a.noconvert().none(),
        "scale"_a.noconvert(), "offset"_a.noconvert(), "shifts"_a.noconvert(), "seed"_a, "grid_bits"_a, "bits"_a,
        "n_levels"_a, "out"_a.noconvert(),
        "Rows to packed levels, the cosine rounded at random to 2^grid_bits values.");
  m.def("encode_stochastic", &score_stochastic, "X"_a.noconvert(), "layout"_a.noconvert().none(), "scale"_a.noconvert(),
        "offset"_a.noconvert(), "shifts"_a.noconvert(), "seed"_a, "grid_bits"_a, "bits"_a, "n_levels"_a,
        "book"_a.noconvert(), "columns"_a.noconvert(), "intercept"_a.noconvert(), "out"_a.noconvert(),
        "Rows to scores, the products of their levels with weights.");
  m.def("threshold", &threshold, "X"_a.noconvert(), "layout"_a.noconvert().none(), "scale"_a.noconvert(),
        "norms"_a.noconvert(), "borders"_a.noconvert(), "bits"_a, "out"_a.noconvert(),
        "values"_a.noconvert().none() = nb::none(), "products"_a.noconvert().none() = nb::none(),
        "Rows, divided by their norms, to packed levels, by borders on the line.");
}

}  // namespace lowtide
