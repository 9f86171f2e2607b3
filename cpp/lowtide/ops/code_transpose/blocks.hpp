// The transposition of code_transpose over a type V, written once for all instruction sets.
//
// A block is one word of 64 / bits rows: square in levels. Blocks are transposed by exchanging off-diagonal halves,
// quarters, and so on: 6, 5 or 4 exchanges for 1, 2 or 4 bits. V says how a block in contiguous memory is transposed
// and how the words of rows come side by side:
//   V::transpose<Bits>(block, to, stride)    level l of the block's words to to[l * stride]; the block is work space
//   V::rows_to_words(...)                    as row_tile
// V lives in an unnamed namespace of the including file, so every instance is that file's own.
#pragma once

#include "lowtide/ops/code_transpose/code_transpose.hpp"

namespace lowtide::transpose_blocks {

// Words of a row that are brought over together: one cache line, read whole before the next block of rows.
constexpr std::size_t kStrip = 8;

// N words to places `stride` apart.
template <class V, std::size_t N>
inline void spread_words(const std::uint64_t* words, std::uint64_t* to, std::size_t stride) {
  for (std::size_t l = 0; l < N; ++l) to[l * stride] = words[l];
}

// The 16 levels of 3 bits that word w of a widened row holds, not widened yet; above them, bits of those that follow.
template <class V>
std::uint64_t three_bit_levels(const std::uint64_t* row, std::size_t row_words, std::size_t w) {
  const std::size_t at = 48 * w / 64, shift = 48 * w % 64;
  std::uint64_t levels = row[at] >> shift;
  if (shift > 16 && at + 1 < row_words) levels |= row[at + 1] << (64 - shift);
  return levels;
}

// Blocks of all rows and words: block b of the rows that word w of their columns goes to
// out[b * block_stride + ((w - first_word) * n + l) * level_stride], l = 0 .. n - 1, n = 64 / Bits.
template <class V, unsigned Bits>
void blocks(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t first_word,
            std::size_t last_word, unsigned stored_bits, std::uint64_t* out, std::size_t block_stride,
            std::size_t level_stride) {
  constexpr std::size_t n = 64 / Bits;
  alignas(64) std::uint64_t block[kStrip * n];
  for (std::size_t strip = first_word; strip < last_word; strip += kStrip) {
    const std::size_t strip_end = strip + kStrip < last_word ? strip + kStrip : last_word;
    for (std::size_t top = 0, b = 0; top < n_rows; top += n, ++b) {
      const std::size_t count = n_rows - top < n ? n_rows - top : n;
      if (count < n)
        for (std::size_t i = 0; i < kStrip * n; ++i) block[i] = 0;
      V::rows_to_words(rows + top * row_words, count, row_words, strip, strip_end, stored_bits, block, n);
      for (std::size_t w = strip; w < strip_end; ++w) {
        std::uint64_t* to = out + b * block_stride + (w - first_word) * n * level_stride;
        V::template transpose<Bits>(block + (w - strip) * n, to, level_stride);
      }
    }
  }
}

template <class V>
void columns(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t first_word,
             std::size_t last_word, unsigned bits, std::uint64_t* out, std::size_t column_words) {
  switch (bits) {
    case 1: blocks<V, 1>(rows, n_rows, row_words, first_word, last_word, bits, out, 1, column_words); break;
    case 2: blocks<V, 2>(rows, n_rows, row_words, first_word, last_word, bits, out, 1, column_words); break;
    default: blocks<V, 4>(rows, n_rows, row_words, first_word, last_word, bits, out, 1, column_words);
  }
  const std::size_t used = words_per_row(n_rows, bits), n_levels = (last_word - first_word) * 64 / bits;
  for (std::size_t l = 0; l < n_levels; ++l)
    for (std::size_t b = used; b < column_words; ++b) out[l * column_words + b] = 0;
}

template <class V>
void tile(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t first_word,
          std::size_t last_word, unsigned bits, std::uint64_t* out, std::size_t stride) {
  switch (bits) {
    case 1: return blocks<V, 1>(rows, n_rows, row_words, first_word, last_word, bits, out, stride, 1);
    case 2: return blocks<V, 2>(rows, n_rows, row_words, first_word, last_word, bits, out, stride, 1);
    default: return blocks<V, 4>(rows, n_rows, row_words, first_word, last_word, bits, out, stride, 1);
  }
}

template <class V>
constexpr TransposeOp op = {columns<V>, V::rows_to_words, tile<V>};

}  // namespace lowtide::transpose_blocks
