// Ternary projections and products of trits: ternary, trit_dot.
#include "cases.hpp"
#include "dots.hpp"
#include "inputs.hpp"

namespace lowtide::opcount {
namespace {

// A tile of 784 features, nine in ten entries of the projection zero.
constexpr std::size_t n_features = 784, n_outputs = 32, n_list = 39;

template <typename T>
void add_sums(Cases& cases, const std::string& name, TernaryOp<T> TernaryOps::* type) {
  cases.push_back({name, n_outputs * 2 * n_list * kTernaryRows, "addition", [=](const Ops& ops) {
                     const TernaryOp<T>& op = ops.ternary.*type;
                     const auto tile = integers<T>(n_features * kTernaryRows, 256, 1);
                     const auto lists = integers<std::uint16_t>(2 * n_outputs * n_list, n_features, 2);
                     const auto starts = zeros<std::uint32_t>(2 * n_outputs + 1);
                     for (std::size_t i = 0; i <= 2 * n_outputs; ++i)
                       starts[i] = static_cast<std::uint32_t>(i * n_list);
                     const auto sums = zeros<T>(n_outputs * kTernaryRows);
                     return [=, &op] { op.sums(tile.get(), lists.get(), starts.get(), n_outputs, true, sums.get()); };
                   }});
}

template <typename T>
void add_words(Cases& cases, const std::string& name, TernaryOp<T> TernaryOps::* type) {
  cases.push_back({name, n_outputs * kTernaryRows, "trit", [=](const Ops& ops) {
                     const TernaryOp<T>& op = ops.ternary.*type;
                     const auto sums = integers<T>(n_outputs * kTernaryRows, 256, 3);
                     const auto upper = integers<T>(n_outputs, 256, 4), lower = integers<T>(n_outputs, 128, 5);
                     const auto out = zeros<std::uint64_t>(kTernaryRows);
                     return [=, &op] { op.trits(sums.get(), n_outputs, upper.get(), lower.get(), false, out.get()); };
                   }});
}

template <typename T>
void add_ternary(Cases& cases, const std::string& name, TernaryOp<T> TernaryOps::* type) {
  add_sums(cases, "ternary." + name + ".sums", type);
  add_words(cases, "ternary." + name + ".trits", type);
}

void add_products_of_trits(Cases& cases) {
  constexpr std::size_t pairs = kDotRows * kDotRows * 32 * dot_words;
  cases.push_back({"trit_dot", pairs, "product", [](const Ops& ops) { return product_of_panels(ops.trit_dot); }});
}

}  // namespace

void add_trits(Cases& cases) {
  add_ternary(cases, "i16", &TernaryOps::i16);
  add_ternary(cases, "i32", &TernaryOps::i32);
  add_ternary(cases, "f32", &TernaryOps::f32);
  add_products_of_trits(cases);
}

}  // namespace lowtide::opcount
