// bit_dot by tables of the sums of four weights, over a register type V, written once for all instruction sets. V lives
// in an unnamed namespace of the including file, so every instance is that file's own.
//
// Tables: [quad][digit][nibble][16 entries], a quad of nibbles being 16 bits of a row. V::put(weights, to) writes the
// digits of the sixteen sums of four weights, digit d to to + 64 d.
#pragma once

#include "lowtide/ops/bit_dot/bit_dot.hpp"
#include "lowtide/ops/code_dot/nibbles.hpp"

namespace lowtide::bit_tables {

constexpr std::size_t kWordQuads = 4;

template <class V>
struct Tables {
  static std::size_t weights_bytes(std::size_t n_words) { return kWordQuads * n_words * V::digits * 64; }

  static void prepare_weights(const float* weights, std::size_t n_words, void* tables) {
    auto* to = static_cast<std::uint8_t*>(tables);
    for (std::size_t quad = 0; quad < kWordQuads * n_words; ++quad, to += V::digits * 64)
      for (int nibble = 0; nibble < 4; ++nibble, weights += 4) V::put(weights, to + 16 * nibble);
  }
};

// Panels of nibbles.hpp: nibbles of V::bytes rows pick a byte each of a table, and four look-ups are added as bytes. V is
// as there, and has
//   Sum, widen(sum, bytes)           sums of 16 bits, and bytes added to them
//   Total, add_digit(total, sum, d)  sums of 32 bits, and what digit d is worth added to them; the highest digit first
//   add_to(sums, total)              those of V::bytes rows
template <class V>
struct OfNibbles : Tables<V> {
  template <int N>
  static void sum_rows(const std::uint8_t* bits, const std::uint8_t* tables, std::size_t n_quads, double* sums) {
    typename V::Total total[N] = {};
    for (int d = V::digits - 1; d >= 0; --d) {
      typename V::Sum sum[N] = {};
      const std::uint8_t *nibbles = bits, *entries = tables + d * 64;
      for (std::size_t quad = 0; quad < n_quads; ++quad, nibbles += 4 * kDotRows, entries += V::digits * 64) {
        typename V::Reg table[4];
#pragma GCC unroll 4
        for (int c = 0; c < 4; ++c) table[c] = V::table(entries + 16 * c);
#pragma GCC unroll 4
        for (int v = 0; v < N; ++v) {
          typename V::Reg found[4];
#pragma GCC unroll 4
          for (int c = 0; c < 4; ++c)
            found[c] = V::look_up(table[c], V::load(nibbles + static_cast<std::size_t>(c) * kDotRows + v * V::bytes));
          V::widen(sum[v], V::add_bytes(V::add_bytes(found[0], found[1]), V::add_bytes(found[2], found[3])));
        }
      }
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v) V::add_digit(total[v], sum[v], d);
    }
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) V::add_to(sums + v * V::bytes, total[v]);
  }

  static void multiply(const void* bits, const void* tables, std::size_t n_words, std::size_t n_rows, double* sums) {
    const auto *from = static_cast<const std::uint8_t*>(bits), *entries = static_cast<const std::uint8_t*>(tables);
    const std::size_t n_quads = kWordQuads * n_words;
    constexpr std::size_t whole = 4 * V::bytes;
    std::size_t i = 0;
    for (; i + whole - V::bytes < n_rows; i += whole) sum_rows<4>(from + i, entries, n_quads, sums + i);
    for (; i < n_rows; i += V::bytes) sum_rows<1>(from + i, entries, n_quads, sums + i);
  }

  static constexpr BitDotOp op = {nibbles::panel_bytes, Tables<V>::weights_bytes, nibbles::Nibbles<V>::prepare,
                                  Tables<V>::prepare_weights, multiply};
};

// Panels of [block of rows][quad][row][nibble]: a register has the quads of V::lanes rows, each nibble of which picks a
// byte of its table, and the four bytes of a row are added to its 32-bit sum at once. Four registers of rows are a block.
//   rows_at_once, put_quads(from, w, to, step)   the quads of word w of so many rows, to places `step` apart
//   Table, table(entries), Reg, load(bits)       four tables, and a register of nibbles
//   Sum, add_found(sum, table, nibbles)          sums of 32 bits
//   add_to(sums, sum)                            those of the three digits, of V::lanes rows
template <class V>
struct OfQuads : Tables<V> {
  static constexpr int kRegisters = 4, kDigits = V::digits;
  static constexpr std::size_t kBlock = kRegisters * V::lanes, kRegisterBytes = 4 * V::lanes;

  static std::size_t bits_bytes(std::size_t n_words) { return kDotRows * kWordQuads * n_words * sizeof(std::uint32_t); }

  // The last block is filled up with its last row.
  static void prepare_bits(const std::uint64_t* rows, std::size_t n_rows, std::size_t stride, std::size_t n_words,
                           void* bits) {
    const std::size_t filled = (n_rows + kBlock - 1) / kBlock * kBlock;
    for (std::size_t i = 0; i < filled; i += V::rows_at_once) {
      const std::uint64_t* from[V::rows_at_once];
      for (std::size_t r = 0; r < V::rows_at_once; ++r) from[r] = rows + (i + r < n_rows ? i + r : n_rows - 1) * stride;
      auto* to = static_cast<std::uint32_t*>(bits) + i / kBlock * kBlock * kWordQuads * n_words + i % kBlock;
      for (std::size_t w = 0; w < n_words; ++w, to += kWordQuads * kBlock) V::put_quads(from, w, to, kBlock);
    }
  }

  static void sum_block(const std::uint8_t* bits, const std::uint8_t* tables, std::size_t n_quads, double* sums) {
    typename V::Sum total[kRegisters][kDigits] = {};
    for (std::size_t quad = 0; quad < n_quads; ++quad, bits += kRegisters * kRegisterBytes, tables += kDigits * 64) {
      typename V::Reg nibbles[kRegisters];
#pragma GCC unroll 4
      for (int r = 0; r < kRegisters; ++r) nibbles[r] = V::load(bits + r * kRegisterBytes);
#pragma GCC unroll 3
      for (int d = 0; d < kDigits; ++d) {
        const typename V::Table table = V::table(tables + d * 64);
#pragma GCC unroll 4
        for (int r = 0; r < kRegisters; ++r) total[r][d] = V::add_found(total[r][d], table, nibbles[r]);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < kRegisters; ++r) V::add_to(sums + r * V::lanes, total[r]);
  }

  static void multiply(const void* bits, const void* tables, std::size_t n_words, std::size_t n_rows, double* sums) {
    const std::size_t n_quads = kWordQuads * n_words;
    for (std::size_t i = 0; i < n_rows; i += kBlock)
      sum_block(static_cast<const std::uint8_t*>(bits) + i * n_quads * sizeof(std::uint32_t),
                static_cast<const std::uint8_t*>(tables), n_quads, sums + i);
  }

  static constexpr BitDotOp op = {bits_bytes, Tables<V>::weights_bytes, prepare_bits, Tables<V>::prepare_weights,
                                  multiply};
};

}  // namespace lowtide::bit_tables
