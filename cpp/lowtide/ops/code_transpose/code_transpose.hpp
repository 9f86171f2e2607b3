// code_transpose: packed rows in another order: levels as columns, or tiles whose words lie side by side. Exact.
//
// A word here holds 64 / bits whole levels. rows: n_rows rows, row_words words apart; words [first_word, last_word) of
// each are taken.
//
// columns: level j of row i becomes level i of column j; bits is 1, 2 or 4. out: one column for each of the
// (last_word - first_word) * 64 / bits levels, padding levels among them, column_words words apart; column_words >=
// words_per_row(n_rows, bits) and all of it is written, the rest with zeros.
//
// tiles: word w of item i at tile[w * stride + i], so that a register takes neighboring items, and passes over one word
// read memory in order whatever the rows' length. bits is 1, 2, 3 or 4; levels of 3 bits are widened to 4, and first_word
// and last_word count words of the widened row. Both orders use bits as widened below.
//   row_tile: items are the rows; last_word - first_word words.
//   column_tile: items are the levels of those words, in order, (last_word - first_word) * 64 / bits of them, and their
//   words run over the rows: words_per_row(n_rows, bits) words. Rows past the end are zero rows.
// Tail: the last block of rows is filled up with zero rows.
#pragma once

#include "lowtide/layout.hpp"

namespace lowtide {

// Who reads a tile may take items in groups of up to this many: past its own it has room for the rest of a group, of
// any content.
constexpr std::size_t kTileStep = 64;

constexpr std::size_t tile_items(std::size_t n) { return (n + kTileStep - 1) / kTileStep * kTileStep; }

// The bits of a level in a tile: widths whose levels straddle words are widened.
constexpr unsigned tile_bits(unsigned bits) { return bits == 3 ? 4 : bits; }

using TransposeFn = void (*)(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words,
                             std::size_t first_word, std::size_t last_word, unsigned bits, std::uint64_t* out,
                             std::size_t column_words);
using TileFn = void (*)(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t first_word,
                        std::size_t last_word, unsigned bits, std::uint64_t* tile, std::size_t stride);

struct TransposeOp {
  TransposeFn columns;
  TileFn row_tile, column_tile;
};

namespace scalar {
extern const TransposeOp code_transpose;
}
namespace avx2 {
extern const TransposeOp code_transpose;
}
namespace avx512 {
extern const TransposeOp code_transpose;
}
namespace neon {
extern const TransposeOp code_transpose;
}

}  // namespace lowtide
