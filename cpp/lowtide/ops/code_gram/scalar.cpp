// The operand is the transposed bits, a row a level: panels of code_dot as they are.
#include "lowtide/ops/code_dot/code_dot.hpp"
#include "lowtide/ops/code_gram/code_gram.hpp"
#include "lowtide/ops/code_transpose/code_transpose.hpp"

namespace lowtide::scalar {
namespace {

std::size_t operand_bytes(std::size_t n_levels, std::size_t n_rows) {
  return gram_tiles(n_levels) * kGramTile * bytes_per_row(n_rows, 1);
}

void prepare(const std::uint64_t* rows, std::size_t n_rows, std::size_t n_levels, std::size_t first_tile,
             std::size_t last_tile, void* operand) {
  const std::size_t row_words = words_per_row(n_levels, 1), words = words_per_row(n_rows, 1);
  const std::size_t first = first_tile * kGramTile / 64, last = last_tile * kGramTile / 64;
  const std::size_t stored = last < row_words ? last : row_words;
  auto* columns = static_cast<std::uint64_t*>(operand);
  code_transpose.columns(rows, n_rows, row_words, first, stored, 1, columns + first * 64 * words, words);
  for (std::size_t i = stored * 64 * words; i < last * 64 * words; ++i) columns[i] = 0;
}

void tile(const void* operand, std::size_t n_rows, std::size_t, std::size_t s, std::size_t t, std::uint32_t* counts) {
  const std::size_t words = words_per_row(n_rows, 1);
  const auto* columns = static_cast<const std::uint64_t*>(operand);
  code_dot.multiply({columns + s * kGramTile * words, columns + t * kGramTile * words, words, kGramTile, kGramTile,
                     false, reinterpret_cast<std::int32_t*>(counts)});
}

}  // namespace

const GramOp code_gram = {operand_bytes, prepare, tile};

}  // namespace lowtide::scalar
