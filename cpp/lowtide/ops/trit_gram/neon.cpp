// The sums are trit_dot's cnt form, which binds, on columns of trits instead of rows.
#include "lowtide/ops/code_gram/columns.hpp"
#include "lowtide/ops/trit_dot/trit_dot.hpp"
#include "lowtide/ops/trit_gram/trit_gram.hpp"

namespace lowtide::neon {
namespace {

struct Level {
  static constexpr std::size_t bits = 2, words = 2;
  static constexpr TransposeFn transpose = code_transpose;
  static constexpr const DotOp& dot = trit_dot;
  // [pluses][minuses] to [nonzero][minus].
  static void put(const std::uint64_t* column, std::uint64_t* to) {
    for (std::size_t w = 0; w < words; ++w) {
      to[w] = column[w] ^ column[words + w];
      to[words + w] = column[words + w];
    }
  }
};

using Columns = gram_columns::Columns<Level>;

}  // namespace

const TritGramOp trit_gram = {Columns::operand_bytes, Columns::prepare, Columns::tile};

}  // namespace lowtide::neon
