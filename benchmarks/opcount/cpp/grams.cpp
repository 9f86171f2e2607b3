// Sums over pairs of levels: code_gram, trit_gram. Preparing the operand and reading it are counted apart.
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
}

}  // namespace lowtide::opcount
