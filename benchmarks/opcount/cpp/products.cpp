// Packed rows times a dense matrix: code_tables, code_product; and times packed rows: code_counts.
#include "cases.hpp"
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

void add_counts(Cases& cases) {
  constexpr std::size_t n_a = 16, n_b = 16;
  cases.push_back({"code_counts", n_a * n_b * n_words, "pair of words", [](const Ops& ops) {
                     const auto a = words(n_a * n_words, 4), b = words(n_b * n_words, 5);
                     const auto counts = zeros<std::uint32_t>(n_a * n_b);
                     return [=, &ops] { ops.code_counts(a.get(), n_a, b.get(), n_b, n_words, counts.get(), n_b); };
                   }});
}

}  // namespace

void add_products(Cases& cases) {
  for (std::size_t n_columns : {1, 10}) {
    add_product<float>(cases, "f32", &Ops::code_tables_f32, &Ops::code_product_f32, n_columns);
    add_product<double>(cases, "f64", &Ops::code_tables_f64, &Ops::code_product_f64, n_columns);
  }
  add_counts(cases);
}

}  // namespace lowtide::opcount
