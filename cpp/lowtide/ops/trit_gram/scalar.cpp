// The operand is the transposed bits: two neighboring columns, pluses and minuses, are a row of a panel of trit_dot.
#include "lowtide/ops/trit_gram/trit_gram.hpp"

#include "lowtide/ops/code_transpose/code_transpose.hpp"
#include "lowtide/ops/trit_dot/trit_dot.hpp"

namespace lowtide::scalar {
namespace {

std::size_t operand_bytes(std::size_t n_levels, std::size_t n_rows) {
  return gram_tiles(n_levels) * kGramTile * 2 * bytes_per_row(n_rows, 1);
}

void prepare(const std::uint64_t* rows, std::size_t n_rows, std::size_t n_levels, std::size_t first_tile,
             std::size_t last_tile, void* operand) {
  const std::size_t row_words = words_per_row(n_levels, 2), words = words_per_row(n_rows, 1);
  const std::size_t first = first_tile * kGramTile / 32, last = last_tile * kGramTile / 32;
  const std::size_t stored = last < row_words ? last : row_words;
  auto* columns = static_cast<std::uint64_t*>(operand);
  code_transpose.columns(rows, n_rows, row_words, first, stored, 1, columns + first * 64 * words, words);
  for (std::size_t i = stored * 64 * words; i < last * 64 * words; ++i) columns[i] = 0;
}

void tile(const void* operand, std::size_t n_rows, std::size_t s, std::size_t t, std::int32_t* sums) {
  const std::size_t words = 2 * words_per_row(n_rows, 1);
  const auto* columns = static_cast<const std::uint64_t*>(operand);
  trit_dot.multiply(
      {columns + s * kGramTile * words, columns + t * kGramTile * words, words, kGramTile, kGramTile, false, sums});
}

}  // namespace

const TritGramOp trit_gram = {operand_bytes, prepare, tile};

}  // namespace lowtide::scalar
