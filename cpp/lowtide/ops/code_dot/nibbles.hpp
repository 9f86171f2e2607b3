// Sums of table look-ups over pairs of nibbles, over a register type V, written once for instruction sets that look up
// bytes in sixteen entries but do not count ones: sums[j][k] += tables[left nibble j][right nibble k] over groups of
// nibbles, for tiles of 128 x 128 rows (or levels). V lives in an unnamed namespace of the including file, so every
// instance is that file's own.
//
// Panel: [group][128 rows], a byte each, below 16. A group of bits or trits of row j picks one of sixteen tables, read
// for V::bytes rows k at once. Entries are at most 4, so a byte sum is emptied into 16-bit sums every 60 groups, those
// into the sums at the end: at most 272 * 60 groups. Half a tile of sums stays in L1 with both runs of nibbles.
#pragma once

#include "lowtide/ops/code_dot/code_dot.hpp"
#include "lowtide/ops/code_scan/byte_columns.hpp"

namespace lowtide::nibbles {

constexpr std::size_t kRun = 60;  // groups before a byte sum could pass 255
constexpr std::size_t kTile = kDotRows, kHalf = kTile / 2;
constexpr std::size_t kWordGroups = 16;

// entry[a][v] is what the nibbles a and v give.
struct Tables {
  alignas(16) std::uint8_t entry[16][16];
};

// Ones that two nibbles have in common.
constexpr Tables of_bits() {
  Tables tables{};
  for (unsigned a = 0; a < 16; ++a)
    for (unsigned v = 0; v < 16; ++v)
      for (unsigned bit = 0; bit < 4; ++bit) tables.entry[a][v] += (a & v) >> bit & 1;
  return tables;
}

inline std::size_t panel_bytes(std::size_t n_words) { return kTile * kWordGroups * n_words; }

template <class V>
struct Nibbles {
  using Reg = typename V::Reg;
  static constexpr int kRegisters = static_cast<int>(kTile / V::bytes);

  // The nibbles of up to 128 packed rows; those past the last one repeat it.
  static void prepare(const std::uint64_t* rows, std::size_t n_rows, std::size_t stride, std::size_t n_words,
                      void* panel) {
    for (std::size_t r = 0; r < n_rows; r += V::bytes) {
      const std::uint8_t* row[V::bytes];
      for (std::size_t i = 0; i < V::bytes; ++i)
        row[i] = reinterpret_cast<const std::uint8_t*>(rows + (r + i < n_rows ? r + i : n_rows - 1) * stride);
      std::uint8_t* to = static_cast<std::uint8_t*>(panel) + r;
      byte_columns::each_column<V>(row, 8 * n_words, [to](std::size_t b, Reg bytes) {
        V::store(to + 2 * b * kTile, V::low_nibbles(bytes));
        V::store(to + (2 * b + 1) * kTile, V::high_nibbles(bytes));
      });
    }
  }

  // Adds the look-ups of two panels of packed rows, and `bias` for every group, to the sums of the tile.
  static void multiply(const Tables& tables, const DotTile& tile, std::int32_t bias) {
    const std::size_t groups = kWordGroups * tile.n_words;
    sum_tile(tables, tile.left, tile.right, groups, tile.n_left, tile.n_right, tile.upper,
             static_cast<std::int32_t>(groups) * bias, tile.sums);
  }

  // The same for tiles s and t of an operand [tile][group][kTile] of whole tiles.
  template <typename Sum>
  static void multiply(const Tables& tables, const void* operand, std::size_t groups, std::size_t s, std::size_t t,
                       Sum bias, Sum* sums) {
    const auto* bytes = static_cast<const std::uint8_t*>(operand);
    sum_tile(tables, bytes + s * groups * kTile, bytes + t * groups * kTile, groups, kTile, kTile, false,
             static_cast<Sum>(groups) * bias, sums);
  }

 private:
  // Adds the look-ups of two panels, and `bias` to each, to the sums, rows kTile apart.
  template <typename Sum>
  static void sum_tile(const Tables& tables, const void* left_panel, const void* right_panel, std::size_t groups,
                       std::size_t n_left, std::size_t n_right, bool upper, Sum bias, Sum* sums) {
    const auto *left = static_cast<const std::uint8_t*>(left_panel),
               *right = static_cast<const std::uint8_t*>(right_panel);
    const int end = static_cast<int>((n_right + V::bytes - 1) / V::bytes);
    for (std::size_t top = 0; top < n_left; top += kHalf) {
      const std::size_t rows = n_left - top < kHalf ? n_left - top : kHalf;
      alignas(64) std::uint16_t partial[kHalf * kTile] = {};
      for (std::size_t g = 0; g < groups; g += kRun) {
        const std::size_t run = groups - g < kRun ? groups - g : kRun;
        for (std::size_t j = 0; j < rows; j += 2) {
          const int first = upper ? static_cast<int>((top + j) / V::bytes) : 0;
          sum_pair<kRegisters>(tables, left + g * kTile + top + j, right + g * kTile + first * V::bytes, run,
                               partial + j * kTile + first * V::bytes, end - first);
        }
      }
      for (std::size_t i = 0; i < rows * kTile; ++i) sums[top * kTile + i] += static_cast<Sum>(partial[i]) + bias;
    }
  }

  // 16-bit sums of rows j, j + 1 of `left` with `count` registers of `right`, over `groups` <= kRun groups.
  template <int N>
  static void sum_pair(const Tables& tables, const std::uint8_t* left, const std::uint8_t* right, std::size_t groups,
                       std::uint16_t* partial, int count) {
    if constexpr (N > 1) {
      if (count < N) return sum_pair<N - 1>(tables, left, right, groups, partial, count);
    }
    Reg total[2][N];
#pragma GCC unroll 2
    for (int p = 0; p < 2; ++p) {
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) total[p][v] = V::zero();
    }
#pragma GCC unroll 4
    for (std::size_t g = 0; g < groups; ++g, left += kTile, right += kTile) {
      const Reg first = V::table(tables.entry[left[0]]), second = V::table(tables.entry[left[1]]);
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) {
        Reg nibbles = V::load(right + v * V::bytes);
        V::keep(nibbles);  // one load for both look-ups: GCC would fold it into each
        total[0][v] = V::add_bytes(total[0][v], V::look_up(first, nibbles));
        total[1][v] = V::add_bytes(total[1][v], V::look_up(second, nibbles));
      }
    }
#pragma GCC unroll 2
    for (int p = 0; p < 2; ++p) {
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) V::add_widened(partial + p * kTile + v * V::bytes, total[p][v]);
    }
  }
};

}  // namespace lowtide::nibbles
