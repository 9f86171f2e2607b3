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

struct V {
  template <unsigned Bits>
  static void transpose(std::uint64_t* block) {
    constexpr int n = 32 / Bits, step = n / 8, group = 4 / Bits;  // registers; between those of 8; of the last exchanges
    for (int j = 0; j < step; ++j) {
      uint64x2_t x[8];
#pragma GCC unroll 8
      for (int k = 0; k < 8; ++k) x[k] = vld1q_u64(block + 2 * (j + k * step));
      exchange_registers<32, 8, 4>(x);
#pragma GCC unroll 8
      for (int k = 0; k < 8; ++k) vst1q_u64(block + 2 * (j + k * step), x[k]);
    }
    for (int j = 0; j < n; j += group) {
      uint64x2_t x[group];
#pragma GCC unroll 4
      for (int k = 0; k < group; ++k) x[k] = vld1q_u64(block + 2 * (j + k));
      exchange_registers<4, group, group / 2>(x);
#pragma GCC unroll 4
      for (int k = 0; k < group; ++k) vst1q_u64(block + 2 * (j + k), exchange_words<Bits>(x[k]));
    }
  }

  static void rows_to_words(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words,
                            std::size_t first_word, std::size_t last_word, unsigned bits, std::uint64_t* words,
                            std::size_t stride) {
    constexpr std::size_t rows_ahead = 32, line = 8;
    if (bits == 3) return scalar::row_tile(rows, n_rows, row_words, first_word, last_word, bits, words, stride);
    const std::size_t n_words = last_word - first_word;
    std::size_t i = 0;
    for (; i + 2 <= n_rows; i += 2) {
      const std::uint64_t *a = rows + i * row_words + first_word, *b = a + row_words;
      for (std::size_t w = 0; w < n_words; w += line) {
        __builtin_prefetch(a + rows_ahead * row_words + w);
        __builtin_prefetch(b + rows_ahead * row_words + w);
      }
      std::uint64_t* to = words + i;
      std::size_t w = 0;
      for (; w + 4 <= n_words; w += 4, to += 4 * stride) {
        const uint64x2_t a0 = vld1q_u64(a + w), a2 = vld1q_u64(a + w + 2);
        const uint64x2_t b0 = vld1q_u64(b + w), b2 = vld1q_u64(b + w + 2);
        vst1q_u64(to, vzip1q_u64(a0, b0));
        vst1q_u64(to + stride, vzip2q_u64(a0, b0));
        vst1q_u64(to + 2 * stride, vzip1q_u64(a2, b2));
        vst1q_u64(to + 3 * stride, vzip2q_u64(a2, b2));
      }
      for (; w < n_words; ++w, to += stride) to[0] = a[w], to[1] = b[w];
    }
    for (; i < n_rows; ++i)
      for (std::size_t w = 0; w < n_words; ++w) words[w * stride + i] = rows[i * row_words + first_word + w];
  }
};

}  // namespace

void code_transpose(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t first_word,
                    std::size_t last_word, unsigned bits, std::uint64_t* out, std::size_t column_words) {
  transpose_blocks::columns<V>(rows, n_rows, row_words, first_word, last_word, bits, out, column_words);
}

void row_tile(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t first_word,
              std::size_t last_word, unsigned bits, std::uint64_t* tile, std::size_t stride) {
  V::rows_to_words(rows, n_rows, row_words, first_word, last_word, bits, tile, stride);
}

void column_tile(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t first_word,
                 std::size_t last_word, unsigned bits, std::uint64_t* tile, std::size_t stride) {
  transpose_blocks::tile<V>(rows, n_rows, row_words, first_word, last_word, bits, tile, stride);
}

}  // namespace lowtide::neon
