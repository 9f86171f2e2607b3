// The counting is code_dot's vpopcntq form, which binds, on columns of bits instead of rows.
#include "lowtide/ops/code_gram/columns.hpp"

namespace lowtide::vbmi {
namespace {

struct Level : gram_columns::OfBits<Level, 8> {
  static constexpr const TransposeOp& transpose = avx512::code_transpose;
  static constexpr const DotOp& dot = code_dot;
};

using Columns = gram_columns::Columns<Level>;

}  // namespace

const GramOp code_gram = {Columns::operand_bytes, Columns::prepare, Columns::counts};

}  // namespace lowtide::vbmi
