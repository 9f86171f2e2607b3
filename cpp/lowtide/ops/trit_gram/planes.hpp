// The operand of trit_gram as rows of trit_dot, a row a level: its trits of all rows in two planes. Level has the
// transpose and the sums, and lives in an unnamed namespace of the including file, so every instance is that file's
// own.
#pragma once

#include "lowtide/ops/code_transpose/code_transpose.hpp"
#include "lowtide/ops/trit_dot/trit_dot.hpp"
#include "lowtide/ops/trit_gram/trit_gram.hpp"

namespace lowtide::trit_planes {

template <class Level>
struct Planes {
  static std::size_t operand_bytes(std::size_t n_levels, std::size_t n_rows) {
    return gram_tiles(n_levels) * kGramTile * 8 * trit_words(n_rows);
  }

  // Two neighboring columns of bits, pluses and minuses, become the planes of a level, in place: as 1-bit levels those
  // of level j are 2j and 2j + 1, and the planes take as many words as both columns.
  static void prepare(const std::uint64_t* rows, std::size_t n_rows, std::size_t n_levels, std::size_t first_tile,
                      std::size_t last_tile, void* operand) {
    const std::size_t row_words = words_per_row(n_levels, 2), words = trit_words(n_rows), half = words / 2;
    const std::size_t bit_words = words_per_row(n_rows, 1);
    auto* planes = static_cast<std::uint64_t*>(operand);
    for (std::size_t w = first_tile * kGramTile / 32; w < last_tile * kGramTile / 32; ++w) {
      std::uint64_t* first = planes + 32 * w * words;
      if (w < row_words) Level::transpose(rows, n_rows, row_words, w, w + 1, 1, first, half);
      for (std::size_t j = 0; j < 32; ++j) {
        for (std::size_t u = w < row_words ? bit_words : 0; u < half; ++u)
          first[j * words + u] = first[j * words + half + u] = 0;
        interleave(first + j * words, half);
      }
    }
  }

  static void tile(const void* operand, std::size_t n_rows, std::size_t s, std::size_t t, std::int32_t* sums) {
    const std::size_t words = trit_words(n_rows);
    const auto* planes = static_cast<const std::uint64_t*>(operand);
    Level::sums(planes + s * kGramTile * words, kGramTile, planes + t * kGramTile * words, kGramTile,
                trit_groups(n_rows), sums, kGramTile);
  }

  // [pluses][minuses] to groups of [nonzero][minus].
  static void interleave(std::uint64_t* row, std::size_t half) {
    alignas(64) std::uint64_t held[2 * kMaxHalf];
    for (std::size_t u = 0; u < 2 * half; ++u) held[u] = row[u];
    for (std::size_t u = 0; u < half; ++u) {
      std::uint64_t* group = row + u / kTritGroup * 2 * kTritGroup + u % kTritGroup;
      group[0] = held[u] ^ held[half + u];
      group[kTritGroup] = held[half + u];
    }
  }

  static constexpr std::size_t kMaxHalf = kTritGroup * trit_groups(kTritGramRows);

  static constexpr TritGramOp op = {operand_bytes, prepare, tile};
};

}  // namespace lowtide::trit_planes
