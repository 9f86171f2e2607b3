// The operand of a gram as panels of code_dot or trit_dot, a row a level: its bits, or trits, of all rows. Written once
// for all instruction sets that count the ones of a vector; Level has what differs and lives in an unnamed namespace of
// the including file, so every instance is that file's own:
//   bits, words      of a level, and of a vector: from OfBits or OfTrits
//   put(columns, to) one line of a row of the panel from its columns of bits, `words` words each: from the same
//   transpose, dot   the ops of the instruction set
// Operand: [tile][run][panel], runs of dot.run_words. 64 rows a word are transposed at a time, in L1.
#pragma once

#include "lowtide/ops/code_dot/lines.hpp"
#include "lowtide/ops/code_gram/code_gram.hpp"
#include "lowtide/ops/code_transpose/code_transpose.hpp"

namespace lowtide::gram_columns {

static_assert(kGramTile == kDotRows);

// What Level needs of bits, and of trits, Words words of rows a vector; Level derives from it.
template <class Level, std::size_t Words>
struct OfBits {
  static constexpr std::size_t bits = 1, words = Words;
  static void put(const std::uint64_t* column, std::uint64_t* to) {
    for (std::size_t w = 0; w < words; ++w) to[w] = column[w];
  }
};

template <class Level, std::size_t Words>
struct OfTrits {
  static constexpr std::size_t bits = 2, words = Words;
  // [pluses][minuses] to [nonzero][minus].
  static void put(const std::uint64_t* column, std::uint64_t* to) {
    for (std::size_t w = 0; w < words; ++w) {
      to[w] = column[w] ^ column[words + w];
      to[words + w] = column[words + w];
    }
  }
};

template <class Level>
struct Columns {
  static constexpr std::size_t kLine = Level::bits * Level::words, kLineRows = 64 * Level::words;
  static constexpr std::size_t kTileWords = kGramTile * Level::bits / 64;
  using Layout = dot_lines::Blocks<kLine>;

  static constexpr std::size_t lines_of(std::size_t n_rows) { return (n_rows + kLineRows - 1) / kLineRows; }

  static std::size_t operand_bytes(std::size_t n_levels, std::size_t n_rows) {
    return gram_tiles(n_levels) * Layout::panel_bytes(lines_of(n_rows) * kLine);
  }

  static void prepare(const std::uint64_t* rows, std::size_t n_rows, std::size_t n_levels, std::size_t first_tile,
                      std::size_t last_tile, void* operand) {
    const std::size_t n_lines = lines_of(n_rows), row_words = words_per_row(n_levels, Level::bits);
    for (std::size_t line = 0; line < n_lines; ++line) {
      const std::size_t begin = line * kLineRows, count = n_rows - begin < kLineRows ? n_rows - begin : kLineRows;
      for (std::size_t t = first_tile; t < last_tile; ++t) {
        alignas(64) std::uint64_t columns[kGramTile * kLine];
        const std::size_t first = t * kTileWords;
        const std::size_t last = first + kTileWords < row_words ? first + kTileWords : row_words;
        Level::transpose.columns(rows + begin * row_words, count, row_words, first, last, 1, columns, Level::words);
        for (std::size_t i = (last - first) * kLineRows; i < kGramTile * kLine; ++i) columns[i] = 0;
        const Run run = run_of(n_lines, line);
        std::uint64_t* panel =
            static_cast<std::uint64_t*>(operand) + tile_at(n_lines, t) + run.first * kGramTile * kLine;
        for (std::size_t j = 0; j < kGramTile; ++j)
          Level::put(columns + j * kLine, panel + Layout::row_of(run.count, j) + (line - run.first) * Layout::kStep);
      }
    }
  }

  static void counts(const void* operand, std::size_t n_rows, std::size_t, std::size_t s, std::size_t t,
                     std::uint32_t* counts) {
    tile(operand, n_rows, s, t, reinterpret_cast<std::int32_t*>(counts));
  }

  static void tile(const void* operand, std::size_t n_rows, std::size_t s, std::size_t t, std::int32_t* sums) {
    const std::size_t n_lines = lines_of(n_rows);
    const auto* words = static_cast<const std::uint64_t*>(operand);
    const std::uint64_t *left = words + tile_at(n_lines, s), *right = words + tile_at(n_lines, t);
    for (std::size_t line = 0; line < n_lines;) {
      const Run run = run_of(n_lines, line);
      const std::size_t at = run.first * kGramTile * kLine;
      Level::dot.multiply({left + at, right + at, run.count * kLine, kGramTile, kGramTile, false, sums});
      line += run.count;
    }
  }

 private:
  // Lines that make one panel.
  struct Run {
    std::size_t first, count;
  };

  static Run run_of(std::size_t n_lines, std::size_t line) {
    const std::size_t most = Level::dot.run_words / kLine, first = line / most * most;
    return {first, n_lines - first < most ? n_lines - first : most};
  }

  static std::size_t tile_at(std::size_t n_lines, std::size_t t) { return t * kGramTile * n_lines * kLine; }
};

}  // namespace lowtide::gram_columns
