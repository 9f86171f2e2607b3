// Panels of rows of trits as two planes, and their dot products, over a register type V, written once for all
// instruction sets that count the ones of a vector. V lives in an unnamed namespace of the including file, so every
// instance is that file's own.
//
// Panel: [block of 4 rows][line][4 rows][nonzero, V::words words][minus, as many]. The trits of two registers of a row
// make a line: those of the first in its even bits, of the second in its odd ones; any order will do that is the same in
// all rows. Blocks of 4 x 2 rows keep 16 registers of counters, V::Counter.
#pragma once

#include "lowtide/ops/code_dot/lines.hpp"
#include "lowtide/ops/trit_dot/trit_dot.hpp"

namespace lowtide::trit_planes {

constexpr int kBlock = dot_lines::kBlock, kRight = 2;

template <class V>
struct Planes : dot_lines::Blocks<2 * V::words> {
  using Reg = typename V::Reg;
  using Layout = dot_lines::Blocks<2 * V::words>;
  using Layout::kStep, Layout::lines_of, Layout::row_of;
  static constexpr std::size_t kLine = 2 * V::words;  // words of a line, packed or as planes

  // The last block is filled up with its last row.
  static void prepare(const std::uint64_t* rows, std::size_t n_rows, std::size_t stride, std::size_t n_words,
                      void* panel) {
    const std::size_t filled = (n_rows + kBlock - 1) / kBlock * kBlock;
    for (std::size_t i = 0; i < filled; ++i) {
      const std::uint64_t* from = rows + (i < n_rows ? i : n_rows - 1) * stride;
      std::uint64_t* to = static_cast<std::uint64_t*>(panel) + row_of(lines_of(n_words), i);
      std::size_t w = 0;
      for (; w + kLine <= n_words; w += kLine, to += kStep) write_line(from + w, to);
      if (w == n_words) continue;
      std::uint64_t last[kLine];
      for (std::size_t u = 0; u < kLine; ++u) last[u] = w + u < n_words ? from[w + u] : 0;
      write_line(last, to);
    }
  }

  static void multiply(const DotTile& tile) {
    const std::size_t n_lines = lines_of(tile.n_words);
    const auto *left = static_cast<const std::uint64_t*>(tile.left),
               *right = static_cast<const std::uint64_t*>(tile.right);
    for (std::size_t i = 0; i < tile.n_left; i += kBlock)
      for (std::size_t j = tile.upper ? i : 0; j < tile.n_right; j += kRight)
        sum_block(left + row_of(n_lines, i), right + row_of(n_lines, j), n_lines, tile.sums + i * kDotRows + j);
  }

 private:
  static void write_line(const std::uint64_t* from, std::uint64_t* to) {
    const Reg first = V::load(from), second = V::load(from + V::words);
    const Reg plus = V::even_odd(first, V::shifted_up(second)), minus = V::even_odd(V::shifted_down(first), second);
    V::store(to, V::differ(plus, minus));
    V::store(to + V::words, minus);
  }

  static void sum_block(const std::uint64_t* a, const std::uint64_t* b, std::size_t n_lines, std::int32_t* sums) {
    typename V::Counter common[kBlock][kRight], opposite[kBlock][kRight];
#pragma GCC unroll 4
    for (int p = 0; p < kBlock; ++p) {
#pragma GCC unroll 2
      for (int q = 0; q < kRight; ++q) common[p][q] = opposite[p][q] = V::zero();
    }
    for (std::size_t line = 0; line < n_lines; ++line, a += kStep, b += kStep) {
      Reg nonzero[kRight], minus[kRight];
#pragma GCC unroll 2
      for (int q = 0; q < kRight; ++q) {
        nonzero[q] = V::load(b + q * kLine);
        minus[q] = V::load(b + q * kLine + V::words);
      }
#pragma GCC unroll 4
      for (int p = 0; p < kBlock; ++p) {
        const Reg own = V::load(a + p * kLine), own_minus = V::load(a + p * kLine + V::words);
#pragma GCC unroll 2
        for (int q = 0; q < kRight; ++q) {
          const Reg both = V::both(own, nonzero[q]);
          common[p][q] = V::add_ones(common[p][q], both);
          opposite[p][q] = V::add_ones(opposite[p][q], V::where_differ(both, own_minus, minus[q]));
        }
      }
    }
    V::add_sums(common, opposite, sums, kDotRows);
  }
};

}  // namespace lowtide::trit_planes
