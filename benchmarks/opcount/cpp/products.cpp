// Packed rows times a dense matrix: code_tables, code_product, row_product; and times packed rows: code_dot,
// bit_dot.
#include "cases.hpp"
#include "dots.hpp"
#include "inputs.hpp"

namespace lowtide::opcount {
namespace {

constexpr std::size_t n_rows = 64, n_words = 16, n_nibbles = 16 * n_words, n_features = 4 * n_nibbles;

// Tables of 1-bit levels, in the order of the level that made them.
template <typename T>
struct Tables {
  TablesFn<T> op;
  std::size_t n_columns;
  Array<T> values = numbers<T>(4 * 16, 1), W = numbers<T>(n_features * n_columns, 2);
  Array<T> tables = zeros<T>(16 * n_nibbles * padded_columns(n_columns));

  void fill() const { op(values.get(), 4, W.get(), n_features, n_columns, 0, n_words, n_columns, tables.get()); }
};

template <typename T>
void add_product(Cases& cases, const std::string& type, TablesFn<T> Ops::* tables, ProductFn<T> Ops::* product,
                 std::size_t n_columns) {
  const std::string variant = type + " " + std::to_string(n_columns) + (n_columns == 1 ? " column" : " columns");
  cases.push_back({"code_tables_" + variant, 16 * n_nibbles * n_columns, "entry",
                   [=](const Ops& ops) { return [made = Tables<T>{ops.*tables, n_columns}] { made.fill(); }; }});
  cases.push_back({"code_product_" + variant, n_rows * n_features * n_columns, "multiply-add", [=](const Ops& ops) {
                     const Tables<T> made{ops.*tables, n_columns};
                     made.fill();
                     const auto tile = words(n_rows * n_words, 3);
                     const auto out = zeros<T>(n_rows * n_columns);
                     return [=, &ops] {
                       (ops.*product)(tile.get(), n_rows, n_rows, 0, n_words, made.tables.get(), n_columns, out.get(),
                                      n_columns);
                     };
                   }});
}

template <typename T>
void add_row_product(Cases& cases, const std::string& name, RowProductFn<T> Ops::* op) {
  constexpr std::size_t n_columns = 10;
  cases.push_back({name, n_features * n_columns, "multiply-add", [=](const Ops& ops) {
                     const auto row = words(n_words, 7);
                     const auto book = numbers<float>(2, 8);
                     const auto columns = numbers<T>(n_features * n_columns, 9);
                     const auto out = zeros<T>(n_columns);
                     return [=, &ops] {
                       (ops.*
                        op)({row.get(), n_features, 1, book.get(), 1, columns.get(), n_features, n_columns, out.get()});
                     };
                   }});
}

void add_dot(Cases& cases) {
  constexpr std::size_t pairs = kDotRows * kDotRows * dot_words;
  cases.push_back({"code_dot", pairs, "pair of words", [](const Ops& ops) { return product_of_panels(ops.code_dot); }});
  constexpr std::size_t row_words = 64;  // so many that the call itself, which is counted too, hardly matters
  cases.push_back({"code_ones", row_words, "word", [](const Ops& ops) {
                     const auto row = words(row_words, 6);
                     const auto ones = zeros<std::uint32_t>(1);
                     return [=, &ops] { ones[0] = ops.code_ones(row.get(), row_words); };
                   }});
}

// One row of weights by a full panel of bits.
struct BitSums {
  const BitDotOp& op;
  Array<std::uint64_t> rows = words(kDotRows * dot_words, 10);
  Array<float> weights = zeros<float>(64 * dot_words);
  Array<std::uint8_t> bits = zeros<std::uint8_t>(op.bits_bytes(dot_words)),
                      tables = zeros<std::uint8_t>(op.weights_bytes(dot_words));
  Array<double> sums = zeros<double>(kDotRows);

  void prepare_bits() const { op.prepare_bits(rows.get(), kDotRows, dot_words, dot_words, bits.get()); }
  void prepare_weights() const { op.prepare_weights(weights.get(), dot_words, tables.get()); }
  void multiply() const { op.multiply(bits.get(), tables.get(), dot_words, kDotRows, sums.get()); }
};

void add_bit_dot(Cases& cases) {
  constexpr std::size_t n_weights = 64 * dot_words, n_bits = kDotRows * n_weights;
  cases.push_back({"bit_dot", n_bits, "multiply-add", [](const Ops& ops) {
                     const BitSums made{ops.bit_dot};
                     made.prepare_bits();
                     made.prepare_weights();
                     return [=] { made.multiply(); };
                   }});
  cases.push_back({"bit_dot bits", n_bits, "bit",
                   [](const Ops& ops) { return [made = BitSums{ops.bit_dot}] { made.prepare_bits(); }; }});
  cases.push_back({"bit_dot weights", n_weights, "weight",
                   [](const Ops& ops) { return [made = BitSums{ops.bit_dot}] { made.prepare_weights(); }; }});
}

}  // namespace

void add_products(Cases& cases) {
  for (std::size_t n_columns : {1, 10}) {
    add_product<float>(cases, "f32", &Ops::code_tables_f32, &Ops::code_product_f32, n_columns);
    add_product<double>(cases, "f64", &Ops::code_tables_f64, &Ops::code_product_f64, n_columns);
  }
  add_row_product<float>(cases, "row_product_f32", &Ops::row_product_f32);
  add_row_product<double>(cases, "row_product_f64", &Ops::row_product_f64);
  add_dot(cases);
  add_bit_dot(cases);
}

}  // namespace lowtide::opcount
