// Panels of bit rows in registers of whole lines, and their counts, over a register type V, written once for all
// instruction sets that count the ones of a vector. V lives in an unnamed namespace of the including file, so every
// instance is that file's own.
//
// Panel: [block of 4 rows][line][4 rows][V::words words], so that a product of two blocks reads both as one stream each,
// whatever the distance of the rows was: at a power of two they would share a few cache sets. Blocks of 4 x 4 rows keep
// 16 registers of counters, V::Counter.
#pragma once

#include "lowtide/ops/code_dot/code_dot.hpp"

namespace lowtide::dot_lines {

constexpr int kBlock = 4;

// Where the lines of a panel are, Line words each.
template <std::size_t Line>
struct Blocks {
  static constexpr std::size_t kStep = kBlock * Line;  // from a line of a row to its next

  static constexpr std::size_t lines_of(std::size_t n_words) { return (n_words + Line - 1) / Line; }
  static std::size_t panel_bytes(std::size_t n_words) {
    return kDotRows * lines_of(n_words) * Line * sizeof(std::uint64_t);
  }
  // The first line of row i in a panel of n_lines.
  static std::size_t row_of(std::size_t n_lines, std::size_t i) {
    return i / kBlock * n_lines * kStep + i % kBlock * Line;
  }
};

template <class V>
struct Lines : Blocks<V::words> {
  using Layout = Blocks<V::words>;
  using Layout::kStep, Layout::lines_of, Layout::row_of;

  // The last block is filled up with its last row.
  static void prepare(const std::uint64_t* rows, std::size_t n_rows, std::size_t stride, std::size_t n_words,
                      void* panel) {
    const std::size_t filled = (n_rows + kBlock - 1) / kBlock * kBlock;
    for (std::size_t i = 0; i < filled; ++i) {
      const std::uint64_t* from = rows + (i < n_rows ? i : n_rows - 1) * stride;
      std::uint64_t* to = static_cast<std::uint64_t*>(panel) + row_of(lines_of(n_words), i);
      std::size_t w = 0;
      for (; w + V::words <= n_words; w += V::words, to += kStep) V::store(to, V::load(from + w));
      if (w == n_words) continue;
      for (std::size_t u = 0; u < V::words; ++u) to[u] = w + u < n_words ? from[w + u] : 0;
    }
  }

  static void multiply(const DotTile& tile) {
    const std::size_t n_lines = lines_of(tile.n_words);
    const auto *left = static_cast<const std::uint64_t*>(tile.left),
               *right = static_cast<const std::uint64_t*>(tile.right);
    // Blocks that share one of the right side in L1 before the next takes its place.
    constexpr std::size_t group = 2 * kBlock;
    for (std::size_t top = 0; top < tile.n_left; top += group) {
      const std::size_t end = tile.n_left - top < group ? tile.n_left : top + group;
      for (std::size_t j = tile.upper ? top : 0; j < tile.n_right; j += kBlock)
        for (std::size_t i = top; i < end; i += kBlock)
          count_block(left + row_of(n_lines, i), right + row_of(n_lines, j), n_lines, tile.sums + i * kDotRows + j);
    }
  }

 private:
  static void count_block(const std::uint64_t* a, const std::uint64_t* b, std::size_t n_lines, std::int32_t* sums) {
    typename V::Counter total[kBlock][kBlock];
#pragma GCC unroll 4
    for (int p = 0; p < kBlock; ++p) {
#pragma GCC unroll 4
      for (int r = 0; r < kBlock; ++r) total[p][r] = V::zero();
    }
    for (std::size_t line = 0; line < n_lines; ++line, a += kStep, b += kStep) {
      typename V::Reg y[kBlock];
#pragma GCC unroll 4
      for (int r = 0; r < kBlock; ++r) y[r] = V::load(b + r * V::words);
#pragma GCC unroll 4
      for (int p = 0; p < kBlock; ++p) {
        const typename V::Reg x = V::load(a + p * V::words);
#pragma GCC unroll 4
        for (int r = 0; r < kBlock; ++r) total[p][r] = V::add_ones(total[p][r], V::both(x, y[r]));
      }
    }
    V::add_sums(total, sums, kDotRows);
  }
};

}  // namespace lowtide::dot_lines
