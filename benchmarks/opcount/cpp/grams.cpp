// Sums over pairs of levels: code_gram, trit_gram, digit_product. Preparing the operand and reading it are counted
// apart.
#include "cases.hpp"
#include "inputs.hpp"
#include "lowtide/layout.hpp"

namespace lowtide::opcount {
namespace {

constexpr std::size_t n_rows = 512, n_levels = kGramTile;

template <typename Op>
Array<std::uint64_t> operand_of(const Op& op) {
  return zeros<std::uint64_t>(op.operand_bytes(n_levels, n_rows) / 8);
}

template <typename Op>
void add_prepare(Cases& cases, const char* name, Op Ops::* member, unsigned bits) {
  cases.push_back({name, n_rows * n_levels, "level", [=](const Ops& ops) {
                     const Op& op = ops.*member;
                     const auto rows = words(n_rows * words_per_row(n_levels, bits), 1);
                     const auto operand = operand_of(op);
                     return [=, &op] { op.prepare(rows.get(), n_rows, n_levels, 0, 1, operand.get()); };
                   }});
}

template <typename Op, typename Sum, typename Tile>
void add_tile(Cases& cases, const char* name, Op Ops::* member, unsigned bits, Tile tile) {
  cases.push_back({name, n_rows * kGramTile * kGramTile, "product", [=](const Ops& ops) {
                     const Op& op = ops.*member;
                     const auto rows = words(n_rows * words_per_row(n_levels, bits), 1);
                     const auto operand = operand_of(op);
                     op.prepare(rows.get(), n_rows, n_levels, 0, 1, operand.get());
                     const auto sums = zeros<Sum>(kGramTile * kGramTile);
                     return [=, &op] { tile(op, operand.get(), sums.get()); };
                   }});
}

struct DigitSides {
  static constexpr std::size_t n_columns = kDigitBlock, n_panels = n_columns / kDigitColumns;
  Array<std::uint8_t> positions = integers<std::uint8_t>(kDigitRows * n_columns, 16, 1);
  Array<std::int8_t> left = zeros<std::int8_t>(n_panels * kDigitPanelBytes),
                     right = zeros<std::int8_t>(n_panels * kDigitPanelBytes);
  std::shared_ptr<DigitTables> tables = std::make_shared<DigitTables>();

  DigitPanels panels() const { return {positions.get(), kDigitRows, n_columns, tables.get(), left.get(), right.get()}; }
};

void add_digits(Cases& cases) {
  constexpr std::size_t n = DigitSides::n_columns;
  cases.push_back({"digit_product.prepare", kDigitRows * n, "level", [](const Ops& ops) {
                     return [&ops, sides = DigitSides()] { ops.digit_product.prepare(sides.panels()); };
                   }});
  cases.push_back({"digit_product.multiply", kDigitRows * n * n, "product", [](const Ops& ops) {
                     const DigitSides sides;
                     ops.digit_product.prepare(sides.panels());
                     const auto sums = zeros<float>(n * n);
                     return [=, &ops] {
                       ops.digit_product.multiply({sides.left.get(), sides.right.get(), kDigitRows,
                                                   DigitSides::n_panels, DigitSides::n_panels, false, sums.get(), n});
                     };
                   }});
}

}  // namespace

void add_grams(Cases& cases) {
  add_prepare(cases, "code_gram.prepare", &Ops::code_gram, 1);
  add_tile<GramOp, std::uint32_t>(cases, "code_gram.tile", &Ops::code_gram, 1,
                                  [](const GramOp& op, const void* operand, std::uint32_t* counts) {
                                    op.tile(operand, n_rows, n_levels, 0, 0, counts);
                                  });
  add_prepare(cases, "trit_gram.prepare", &Ops::trit_gram, 2);
  add_tile<TritGramOp, std::int32_t>(
      cases, "trit_gram.tile", &Ops::trit_gram, 2,
      [](const TritGramOp& op, const void* operand, std::int32_t* sums) { op.tile(operand, n_rows, 0, 0, sums); });
  add_digits(cases);
}

}  // namespace lowtide::opcount
