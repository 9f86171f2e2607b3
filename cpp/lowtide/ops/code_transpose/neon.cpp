// Exchanges of 32, 16 and 8 bits are trn1 and trn2 of two registers, two instructions; those of 4 and fewer bits are a
// shift and a bsl for either register, and the last, of the two words of one register, ext, ushl and bsl. Eight registers
// at a time for the former, four for the latter, so that a block passes twice through L1. Words of rows come together
// two rows by four words; the rows to come are asked for, because a piece of every row is too short a stream for the
// processor to see it coming. Binds: the vector pipes.
#include <arm_neon.h>

#include "lowtide/ops/code_transpose/blocks.hpp"

namespace lowtide::neon {
namespace {

// The low `shift` bits of each run of 2 * shift bits.
constexpr std::uint64_t low_bits(unsigned shift) { return ~std::uint64_t{0} / ((std::uint64_t{1} << shift) + 1); }

// The high `Shift` bits of a's runs against the low ones of b's.
template <unsigned Shift>
[[gnu::always_inline]] inline void exchange(uint64x2_t& a, uint64x2_t& b) {
  const uint64x2_t x = a, y = b;
  if constexpr (Shift == 32) {
    const uint32x4_t first = vreinterpretq_u32_u64(x), second = vreinterpretq_u32_u64(y);
    a = vreinterpretq_u64_u32(vtrn1q_u32(first, second));
    b = vreinterpretq_u64_u32(vtrn2q_u32(first, second));
  } else if constexpr (Shift == 16) {
    const uint16x8_t first = vreinterpretq_u16_u64(x), second = vreinterpretq_u16_u64(y);
    a = vreinterpretq_u64_u16(vtrn1q_u16(first, second));
    b = vreinterpretq_u64_u16(vtrn2q_u16(first, second));
  } else if constexpr (Shift == 8) {
    const uint8x16_t first = vreinterpretq_u8_u64(x), second = vreinterpretq_u8_u64(y);
    a = vreinterpretq_u64_u8(vtrn1q_u8(first, second));
    b = vreinterpretq_u64_u8(vtrn2q_u8(first, second));
  } else {
    const uint64x2_t low = vdupq_n_u64(low_bits(Shift));
    a = vbslq_u64(low, x, vshlq_n_u64(y, Shift));
    b = vbslq_u64(low, vshrq_n_u64(x, Shift), y);
  }
}

// The same of the two words of a register.
template <unsigned Shift>
[[gnu::always_inline]] inline uint64x2_t exchange_words(uint64x2_t a) {
  const uint64x2_t keep = {low_bits(Shift), ~low_bits(Shift)};
  const int64x2_t by = {Shift, -static_cast<std::int64_t>(Shift)};
  return vbslq_u64(keep, a, vshlq_u64(vextq_u64(a, a, 1), by));
}

// Exchanges across registers that lie Half, Half / 2, ..., 1 apart, of N.
template <unsigned Shift, int N, int Half>
[[gnu::always_inline]] inline void exchange_registers(uint64x2_t (&x)[N]) {
  if constexpr (Half > 0) {
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i)
      if ((i & Half) == 0) exchange<Shift>(x[i], x[i + Half]);
    exchange_registers<Shift / 2, N, Half / 2>(x);
  }
}

// Both words of a register to places `stride` apart.
[[gnu::always_inline]] inline void put(std::uint64_t* to, std::size_t stride, uint64x2_t a) {
  vst1q_lane_u64(to, a, 0);
  vst1q_lane_u64(to + stride, a, 1);
}

// N words, an even number, of pairs of rows side by side.
template <std::size_t N>
void pairs_to_words(const std::uint64_t* rows, std::size_t n_pairs, std::size_t row_words, std::uint64_t* words,
                    std::size_t stride) {
  constexpr std::size_t rows_ahead = 32;
  for (std::size_t i = 0; i < n_pairs; ++i, rows += 2 * row_words) {
    const std::uint64_t *a = rows, *b = rows + row_words;
    __builtin_prefetch(a + rows_ahead * row_words);
    __builtin_prefetch(b + rows_ahead * row_words);
#pragma GCC unroll 4
    for (std::size_t w = 0; w < N; w += 2) {
      const uint64x2_t x = vld1q_u64(a + w), y = vld1q_u64(b + w);
      vst1q_u64(words + w * stride + 2 * i, vzip1q_u64(x, y));
      vst1q_u64(words + (w + 1) * stride + 2 * i, vzip2q_u64(x, y));
    }
  }
}

struct V {
  template <unsigned Bits>
  static void transpose(std::uint64_t* block, std::uint64_t* to, std::size_t stride) {
    constexpr int n = 32 / Bits, step = n / 8,
                  group = 4 / Bits;  // registers; between those of 8; of the last exchanges
    for (int j = 0; j < step; ++j) {
      uint64x2_t x[8];
#pragma GCC unroll 8
      for (int k = 0; k < 8; ++k) x[k] = vld1q_u64(block + 2 * (j + k * step));
      exchange_registers<32, 8, 4>(x);
#pragma GCC unroll 8
      for (int k = 0; k < 8; ++k) vst1q_u64(block + 2 * (j + k * step), x[k]);
    }
    for (int j = 0; j < n; j += group, block += 2 * group, to += 2 * group * stride) {
      uint64x2_t x[group];
#pragma GCC unroll 4
      for (int k = 0; k < group; ++k) x[k] = vld1q_u64(block + 2 * k);
      exchange_registers<4, group, group / 2>(x);
#pragma GCC unroll 4
      for (int k = 0; k < group; ++k) {
        const uint64x2_t done = exchange_words<Bits>(x[k]);
        if (stride == 1)
          vst1q_u64(to + 2 * k, done);
        else
          put(to + 2 * static_cast<std::size_t>(k) * stride, stride, done);
      }
    }
  }

  static void rows_to_words(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words,
                            std::size_t first_word, std::size_t last_word, unsigned bits, std::uint64_t* words,
                            std::size_t stride) {
    if (bits == 3)
      return scalar::code_transpose.row_tile(rows, n_rows, row_words, first_word, last_word, bits, words, stride);
    constexpr std::size_t line = 8;
    const std::size_t n_pairs = n_rows / 2;
    std::size_t w = first_word;
    for (; w + line <= last_word; w += line, words += line * stride)
      pairs_to_words<line>(rows + w, n_pairs, row_words, words, stride);
    for (; w + 2 <= last_word; w += 2, words += 2 * stride)
      pairs_to_words<2>(rows + w, n_pairs, row_words, words, stride);
    if (w < last_word)
      for (std::size_t i = 0; i < 2 * n_pairs; ++i) words[i] = rows[i * row_words + w];
    words -= (w - first_word) * stride;
    if (n_rows % 2 != 0)
      for (std::size_t i = n_rows - 1, v = first_word; v < last_word; ++v)
        words[(v - first_word) * stride + i] = rows[i * row_words + v];
  }
};

}  // namespace

const TransposeOp code_transpose = transpose_blocks::op<V>;

}  // namespace lowtide::neon
