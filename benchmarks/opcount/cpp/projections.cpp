// Rows to projected values and back: hadamard, hadamard_transpose, rotation, panel_product, norm; and pair_product, which
// has the shape of panel_product.
#include "cases.hpp"
#include "inputs.hpp"

namespace lowtide::opcount {
namespace {

// The first n_last of the last block's outputs are wanted.
void add_hadamard(Cases& cases, const char* name, std::size_t dim, std::size_t n_blocks, std::size_t n_last) {
  cases.push_back({name, (n_blocks - 1) * dim + n_last, "output", [=](const Ops& ops) {
                     const auto x = numbers<float>(dim, 1), s = signs(3 * dim * n_blocks, 2);
                     const auto v = zeros<float>(dim * n_blocks);
                     return [=, &ops] { ops.hadamard(x.get(), x.get(), s.get(), dim, n_blocks, n_last, v.get()); };
                   }});
}

void add_hadamard_transpose(Cases& cases, const char* name, std::size_t dim, std::size_t n_blocks) {
  cases.push_back({name, n_blocks * dim, "value", [=](const Ops& ops) {
                     const auto v = numbers<float>(dim * n_blocks, 6), s = signs(3 * dim * n_blocks, 7);
                     const auto out = zeros<float>(dim);
                     return [=, &ops] { ops.hadamard_transpose(v.get(), s.get(), dim, n_blocks, out.get()); };
                   }});
}

// Factors and turns of any size: what they are takes no time.
void add_rotation(Cases& cases, const char* name, std::size_t dim, std::size_t n_rounds) {
  cases.push_back({name, dim, "value", [=](const Ops& ops) {
                     const auto x = numbers<float>(dim, 8), drawn = numbers<float>((2 * n_rounds - 1) * dim, 9);
                     const auto v = zeros<float>(dim);
                     return [=, &ops] { ops.rotation(x.get(), drawn.get(), dim, n_rounds, v.get()); };
                   }});
}

// As dense projections use it, rows of a matrix; or as grams do, columns of a panel added to sums.
template <class Element>
PanelProductOf<Element> panel_product_of(const Element* a, const Element* panels, float* out, std::size_t n_rows,
                                         std::size_t n_panels, std::size_t depth, bool columns) {
  PanelProductOf<Element> product{};
  product.a = a;
  product.a_row = columns ? 1 : depth;
  product.a_step = columns ? n_rows : 1;
  product.n_rows = n_rows;
  product.panels = panels;
  product.panel_stride = panel_width * depth;
  product.n_panels = n_panels;
  product.depth = depth;
  product.out = out;
  product.out_stride = n_panels * panel_width;
  product.add = columns;
  return product;
}

void add_panel_product(Cases& cases, const char* name, bool columns) {
  constexpr std::size_t n_rows = 16, n_panels = 4, depth = 256;
  cases.push_back({name, n_rows * n_panels * panel_width * depth, "multiply-add", [=](const Ops& ops) {
                     const auto a = numbers<float>(n_rows * depth, 3);
                     const auto panels = numbers<float>(n_panels * panel_width * depth, 4);
                     const auto out = zeros<float>(n_rows * n_panels * panel_width);
                     const auto product =
                         panel_product_of(a.get(), panels.get(), out.get(), n_rows, n_panels, depth, columns);
                     return [=, &ops, held = std::pair(a, panels)] {
                       (void)held, (void)out;
                       ops.panel_product(product);
                     };
                   }});
}

// As many sums, each of twice as many products.
void add_pair_product(Cases& cases) {
  constexpr std::size_t n_rows = 16, n_panels = 4, depth = 256;
  cases.push_back({"pair_product", 2 * n_rows * n_panels * panel_width * depth, "multiply-add", [=](const Ops& ops) {
                     const auto a = zeros<Pair>(n_rows * depth), panels = zeros<Pair>(n_panels * panel_width * depth);
                     const auto out = zeros<float>(n_rows * n_panels * panel_width);
                     const auto product =
                         panel_product_of(a.get(), panels.get(), out.get(), n_rows, n_panels, depth, false);
                     return [=, &ops, held = std::pair(a, panels)] {
                       (void)held, (void)out;
                       ops.pair_product.multiply(product);
                     };
                   }});
  cases.push_back({"pair_product columns", 2 * panel_width * depth, "level", [=](const Ops& ops) {
                     const auto levels = zeros<std::uint8_t>(panel_width * 2 * depth);
                     const auto book = zeros<PairBook>(1);
                     book[0].width = 1;
                     const auto panel = zeros<Pair>(panel_width * depth);
                     return [=, &ops] {
                       ops.pair_product.columns(levels.get(), 2 * depth, 2 * depth, book[0], panel.get());
                     };
                   }});
}

}  // namespace

void add_projections(Cases& cases) {
  add_hadamard(cases, "hadamard 64 x 64", 64, 64, 64);
  add_hadamard(cases, "hadamard 1024 x 4", 1024, 4, 1024);
  add_hadamard(cases, "hadamard 4096", 4096, 1, 4096);
  add_hadamard(cases, "hadamard 4096, half kept", 4096, 1, 2048);
  add_hadamard_transpose(cases, "hadamard_transpose 64 x 64", 64, 64);
  add_hadamard_transpose(cases, "hadamard_transpose 1024 x 4", 1024, 4);
  add_hadamard_transpose(cases, "hadamard_transpose 4096", 4096, 1);
  add_rotation(cases, "rotation 384", 384, 4);
  add_rotation(cases, "rotation 1025", 1025, 4);
  add_panel_product(cases, "panel_product rows", false);
  add_panel_product(cases, "panel_product columns", true);
  add_pair_product(cases);
  cases.push_back({"norm", 4096, "entry", [](const Ops& ops) {
                     const auto x = numbers<float>(4096, 5), out = zeros<float>(1);
                     return [=, &ops] { out[0] = ops.norm(x.get(), 4096); };
                   }});
}

}  // namespace lowtide::opcount
