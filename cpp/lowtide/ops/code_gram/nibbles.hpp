// Sums of table look-ups over pairs of nibbles, for grams at AVX2: sums[j][k] += tables[left nibble j][right nibble k]
// over groups of rows, 128 x 128 levels, the look-ups of 32 levels k by one vpshufb. Operand: [tile][group][128
// levels], a byte each, below 16. Entries are at most 4, so a byte sum is emptied into 16-bit sums every 60 groups,
// those into the counts at the end: at most 272 * 60 groups. Half a tile of sums stays in L1 with both runs of nibbles.
#pragma once

#include <immintrin.h>

#include "lowtide/ops/code_gram/code_gram.hpp"

namespace lowtide::avx2 {
namespace {

constexpr std::size_t kRun = 60;  // groups before a byte sum could pass 255

inline void empty_into(std::uint16_t* sums, __m256i bytes) {
  auto* to = reinterpret_cast<__m256i*>(sums);
  const __m256i low = _mm256_cvtepu8_epi16(_mm256_castsi256_si128(bytes));
  const __m256i high = _mm256_cvtepu8_epi16(_mm256_extracti128_si256(bytes, 1));
  _mm256_storeu_si256(to, _mm256_add_epi16(_mm256_loadu_si256(to), low));
  _mm256_storeu_si256(to + 1, _mm256_add_epi16(_mm256_loadu_si256(to + 1), high));
}

// entry[a][v] is what the nibbles a and v give.
struct Tables {
  alignas(16) std::uint8_t entry[16][16];
};

inline __m256i table_of(const Tables& tables, std::uint8_t nibble) {
  return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(tables.entry[nibble])));
}

// 16-bit sums of levels j, j + 1 of `left` with the 128 levels of `right`, over `groups` <= kRun groups.
inline void count_pair(const Tables& tables, const std::uint8_t* left, const std::uint8_t* right, std::size_t groups,
                       std::uint16_t* sums) {
  __m256i total[2][4];
  for (auto& row : total)
    for (auto& cell : row) cell = _mm256_setzero_si256();
#pragma GCC unroll 4
  for (std::size_t g = 0; g < groups; ++g, left += kGramTile, right += kGramTile) {
    const __m256i first = table_of(tables, left[0]), second = table_of(tables, left[1]);
    for (int v = 0; v < 4; ++v) {
      __m256i nibbles = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(right) + v);
      asm("" : "+x"(nibbles));  // one load for both look-ups: GCC would fold it into each
      total[0][v] = _mm256_add_epi8(total[0][v], _mm256_shuffle_epi8(first, nibbles));
      total[1][v] = _mm256_add_epi8(total[1][v], _mm256_shuffle_epi8(second, nibbles));
    }
  }
  for (int p = 0; p < 2; ++p)
    for (int v = 0; v < 4; ++v) empty_into(sums + p * kGramTile + 32 * v, total[p][v]);
}

// Adds the look-ups of tiles s and t, and `bias` to each, to the counts.
template <typename Count>
inline void count_tile(const Tables& tables, const std::uint8_t* bytes, std::size_t groups, std::size_t s,
                       std::size_t t, Count bias, Count* counts) {
  constexpr std::size_t half = kGramTile / 2;
  for (std::size_t top = 0; top < kGramTile; top += half) {
    alignas(32) std::uint16_t sums[half * kGramTile] = {};
    for (std::size_t g = 0; g < groups; g += kRun) {
      const std::size_t run = groups - g < kRun ? groups - g : kRun;
      const std::uint8_t* left = bytes + (s * groups + g) * kGramTile + top;
      const std::uint8_t* right = bytes + (t * groups + g) * kGramTile;
      for (std::size_t j = 0; j < half; j += 2) count_pair(tables, left + j, right, run, sums + j * kGramTile);
    }
    for (std::size_t i = 0; i < half * kGramTile; ++i)
      counts[top * kGramTile + i] += static_cast<Count>(sums[i]) + bias;
  }
}

}  // namespace
}  // namespace lowtide::avx2
