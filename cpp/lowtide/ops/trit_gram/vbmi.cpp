// The sums are trit_dot's vpopcntq form, which binds, on columns of trits instead of rows.
#include "lowtide/ops/code_gram/columns.hpp"
#include "lowtide/ops/trit_dot/trit_dot.hpp"
#include "lowtide/ops/trit_gram/trit_gram.hpp"

namespace lowtide::vbmi {
namespace {

struct Level : gram_columns::OfTrits<Level, 8> {
  static constexpr const TransposeOp& transpose = avx512::code_transpose;
  static constexpr const DotOp& dot = trit_dot;
};

using Columns = gram_columns::Columns<Level>;

}  // namespace

const TritGramOp trit_gram = {Columns::operand_bytes, Columns::prepare, Columns::tile};

}  // namespace lowtide::vbmi
