// The counting is code_dot's cnt form, which binds, on columns of bits instead of rows.
#include "lowtide/ops/code_gram/columns.hpp"

namespace lowtide::neon {
namespace {

struct Level : gram_columns::OfBits<Level, 4> {
  static constexpr const TransposeOp& transpose = code_transpose;
  static constexpr const DotOp& dot = code_dot;
};

using Columns = gram_columns::Columns<Level>;

}  // namespace

const GramOp code_gram = {Columns::operand_bytes, Columns::prepare, Columns::counts};

}  // namespace lowtide::neon
