// The counting is code_dot's cnt form, which binds, on columns of bits instead of rows.
#include "lowtide/ops/code_gram/columns.hpp"

namespace lowtide::neon {
namespace {

struct Level {
  static constexpr std::size_t bits = 1, words = 4;
  static constexpr TransposeFn transpose = code_transpose;
  static constexpr const DotOp& dot = code_dot;
  static void put(const std::uint64_t* column, std::uint64_t* to) {
    for (std::size_t w = 0; w < words; ++w) to[w] = column[w];
  }
};

using Columns = gram_columns::Columns<Level>;

void tile(const void* operand, std::size_t n_rows, std::size_t, std::size_t s, std::size_t t, std::uint32_t* counts) {
  Columns::tile(operand, n_rows, s, t, reinterpret_cast<std::int32_t*>(counts));
}

}  // namespace

const GramOp code_gram = {Columns::operand_bytes, Columns::prepare, tile};

}  // namespace lowtide::neon
