// Two rows at a time: the two trits of level k in those rows are a nibble, and the product of nibbles j and k, plus 2
// so that it is not negative, is a byte of one of sixteen tables, as in code_gram. Two instructions, vpshufb and
// vpaddb, do 64 pairs of trits; popcnt does 32 a cycle. The 2s are taken off at the end. Rows past the end are zeros.
#include "lowtide/ops/code_dot/nibbles_avx2.hpp"
#include "lowtide/ops/trit_dot/trit_tables.hpp"
#include "lowtide/ops/trit_gram/trit_gram.hpp"

namespace lowtide::avx2 {
namespace {

constexpr std::size_t pairs_of(std::size_t n_rows) { return (n_rows + 1) / 2; }

std::size_t operand_bytes(std::size_t n_levels, std::size_t n_rows) {
  return gram_tiles(n_levels) * pairs_of(n_rows) * kGramTile;
}

// 32 levels of 2 bits as bytes.
inline __m256i spread_levels(std::uint64_t word) {
  const __m256i source =
      _mm256_setr_epi8(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7);
  // Four levels of a byte in four copies of it: each copy is shifted until its own level is lowest.
  const __m256i copies = _mm256_shuffle_epi8(_mm256_set1_epi64x(static_cast<long long>(word)), source);
  const __m256i by_two = _mm256_srli_epi32(copies, 2), by_four = _mm256_srli_epi32(copies, 4);
  const __m256i by_six = _mm256_srli_epi32(copies, 6);
  const __m256i first = _mm256_set1_epi32(0x00000003), second = _mm256_set1_epi32(0x00000300);
  const __m256i third = _mm256_set1_epi32(0x00030000), fourth = _mm256_set1_epi32(0x03000000);
  return _mm256_or_si256(_mm256_or_si256(_mm256_and_si256(copies, first), _mm256_and_si256(by_two, second)),
                         _mm256_or_si256(_mm256_and_si256(by_four, third), _mm256_and_si256(by_six, fourth)));
}

void prepare(const std::uint64_t* rows, std::size_t n_rows, std::size_t n_levels, std::size_t first_tile,
             std::size_t last_tile, void* operand) {
  const std::size_t row_words = words_per_row(n_levels, 2), pairs = pairs_of(n_rows);
  auto* bytes = static_cast<std::uint8_t*>(operand);
  for (std::size_t g = 0; g < pairs; ++g) {
    const std::uint64_t* row = rows + 2 * g * row_words;
    const bool both = 2 * g + 1 < n_rows;
    for (std::size_t t = first_tile; t < last_tile; ++t) {
      auto* to = reinterpret_cast<__m256i*>(bytes + (t * pairs + g) * kGramTile);
      for (std::size_t v = 0; v < 4; ++v) {
        const std::size_t word = 4 * t + v;
        __m256i nibbles = _mm256_setzero_si256();
        if (word < row_words) nibbles = spread_levels(row[word]);
        if (word < row_words && both)
          nibbles = _mm256_or_si256(nibbles, _mm256_slli_epi16(spread_levels(row[row_words + word]), 2));
        _mm256_storeu_si256(to + v, nibbles);
      }
    }
  }
}

void tile(const void* operand, std::size_t n_rows, std::size_t s, std::size_t t, std::int32_t* sums) {
  static constexpr nibbles::Tables tables = nibbles::of_trits();
  NibbleTiles::multiply(tables, operand, pairs_of(n_rows), s, t, std::int32_t{-2}, sums);
}

}  // namespace

const TritGramOp trit_gram = {operand_bytes, prepare, tile};

}  // namespace lowtide::avx2
