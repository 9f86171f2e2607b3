// The operand is the transposed bits, as at the scalar level; the counting is code_dot's vpopcntq form, which binds.
#include "lowtide/ops/code_dot/code_dot.hpp"
#include "lowtide/ops/code_gram/code_gram.hpp"

namespace lowtide::avx512 {
namespace {

std::size_t operand_bytes(std::size_t n_levels, std::size_t n_rows) {
  return scalar::code_gram.operand_bytes(n_levels, n_rows);
}

void prepare(const std::uint64_t* rows, std::size_t n_rows, std::size_t n_levels, std::size_t first_tile,
             std::size_t last_tile, void* operand) {
  scalar::code_gram.prepare(rows, n_rows, n_levels, first_tile, last_tile, operand);
}

void tile(const void* operand, std::size_t n_rows, std::size_t, std::size_t s, std::size_t t, std::uint32_t* counts) {
  const std::size_t words = words_per_row(n_rows, 1);
  const auto* columns = static_cast<const std::uint64_t*>(operand);
  code_counts(columns + s * kGramTile * words, kGramTile, columns + t * kGramTile * words, kGramTile, words, counts,
              kGramTile);
}

}  // namespace

const GramOp code_gram = {operand_bytes, prepare, tile};

}  // namespace lowtide::avx512
