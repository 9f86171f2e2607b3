// The operand is the transposed bits as at the scalar level, columns padded to whole cache lines so that no load
// straddles two and no tail is left; the counting is code_dot's vpopcntq form, which binds.
#include "lowtide/ops/code_dot/code_dot.hpp"
#include "lowtide/ops/code_gram/code_gram.hpp"
#include "lowtide/ops/code_transpose/code_transpose.hpp"

namespace lowtide::avx512 {
namespace {

constexpr std::size_t column_words(std::size_t n_rows) { return (n_rows + 511) / 512 * 8; }

std::size_t operand_bytes(std::size_t n_levels, std::size_t n_rows) {
  return gram_tiles(n_levels) * kGramTile * column_words(n_rows) * 8;
}

void prepare(const std::uint64_t* rows, std::size_t n_rows, std::size_t n_levels, std::size_t first_tile,
             std::size_t last_tile, void* operand) {
  const std::size_t row_words = words_per_row(n_levels, 1), words = column_words(n_rows);
  const std::size_t first = first_tile * kGramTile / 64, last = last_tile * kGramTile / 64;
  const std::size_t stored = last < row_words ? last : row_words;
  auto* columns = static_cast<std::uint64_t*>(operand);
  code_transpose(rows, n_rows, row_words, first, stored, 1, columns + first * 64 * words, words);
  for (std::size_t i = stored * 64 * words; i < last * 64 * words; ++i) columns[i] = 0;
}

void tile(const void* operand, std::size_t n_rows, std::size_t, std::size_t s, std::size_t t, std::uint32_t* counts) {
  const std::size_t words = column_words(n_rows);
  const auto* columns = static_cast<const std::uint64_t*>(operand);
  code_counts(columns + s * kGramTile * words, kGramTile, columns + t * kGramTile * words, kGramTile, words, counts,
              kGramTile);
}

}  // namespace

const GramOp code_gram = {operand_bytes, prepare, tile};

}  // namespace lowtide::avx512
