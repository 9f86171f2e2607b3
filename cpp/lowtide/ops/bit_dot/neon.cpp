// tbl, add, uaddw: the nibbles of 16 rows pick a byte each of a table. Four digits of six bits, so that four look-ups are
// added as bytes before they are widened: nine instructions for a digit of 256 bits. 64 quads of nibbles in a run stay
// below 2^16. Binds: the vector pipes that all of these share. Blocks of 64 rows keep 8 registers of sums.
#include "lowtide/ops/bit_dot/bit_dot.hpp"

#include "lowtide/ops/bytes_neon.hpp"
#include "lowtide/ops/code_dot/nibbles.hpp"

namespace lowtide::neon {
namespace {

constexpr int kDigits = 4, kDigitBits = 6, kRegisters = 4;
constexpr std::size_t kWordQuads = 4;  // of four nibbles
constexpr std::size_t kRows = Bytes::bytes;

// [quad][digit][nibble][16 entries]
std::size_t weights_bytes(std::size_t n_words) { return kWordQuads * n_words * kDigits * 64; }

// The sums of four weights by the bits of 0 to 15, four a register.
inline void sums_of(const float* weights, uint32x4_t (&sums)[4]) {
  const float32x4_t zero = vdupq_n_f32(0.0f), first = {0, weights[0], 0, weights[0]};
  const float32x4_t low = vaddq_f32(first, float32x4_t{0, 0, weights[1], weights[1]});
  for (int g = 0; g < 4; ++g) {
    const float32x4_t third = g & 1 ? vdupq_n_f32(weights[2]) : zero, fourth = g & 2 ? vdupq_n_f32(weights[3]) : zero;
    sums[g] = vcvtq_u32_f32(vaddq_f32(vaddq_f32(low, third), fourth));
  }
}

void prepare_weights(const float* weights, std::size_t n_words, void* tables) {
  const uint32x4_t six = vdupq_n_u32((1 << kDigitBits) - 1);
  auto* to = static_cast<std::uint8_t*>(tables);
  for (std::size_t quad = 0; quad < kWordQuads * n_words; ++quad, to += kDigits * 64)
    for (int nibble = 0; nibble < 4; ++nibble, weights += 4) {
      uint32x4_t sums[4];
      sums_of(weights, sums);
      for (int d = 0; d < kDigits; ++d) {
        uint16x8_t half[2];
        for (int h = 0; h < 2; ++h)
          half[h] = vuzp1q_u16(vreinterpretq_u16_u32(vandq_u32(sums[2 * h], six)),
                               vreinterpretq_u16_u32(vandq_u32(sums[2 * h + 1], six)));
        vst1q_u8(to + d * 64 + nibble * 16, vuzp1q_u8(vreinterpretq_u8_u16(half[0]), vreinterpretq_u8_u16(half[1])));
        for (uint32x4_t& sum : sums) sum = vshrq_n_u32(sum, kDigitBits);
      }
    }
}

// N registers of 16 rows.
template <int N>
void sum_rows(const std::uint8_t* bits, const std::uint8_t* tables, std::size_t n_quads, double* sums) {
  uint32x4_t total[N][4] = {};
  for (int d = kDigits - 1; d >= 0; --d) {
    uint16x8_t low[N], high[N];
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) low[v] = high[v] = vdupq_n_u16(0);
    const std::uint8_t *nibbles = bits, *entries = tables + d * 64;
    for (std::size_t quad = 0; quad < n_quads; ++quad, nibbles += 4 * kDotRows, entries += kDigits * 64) {
      uint8x16_t table[4];
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c) table[c] = vld1q_u8(entries + 16 * c);
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v) {
        uint8x16_t found[4];
#pragma GCC unroll 4
        for (int c = 0; c < 4; ++c)
          found[c] = vqtbl1q_u8(table[c], vld1q_u8(nibbles + static_cast<std::size_t>(c) * kDotRows + v * kRows));
        const uint8x16_t sum = vaddq_u8(vaddq_u8(found[0], found[1]), vaddq_u8(found[2], found[3]));
        low[v] = vaddw_u8(low[v], vget_low_u8(sum));
        high[v] = vaddw_high_u8(high[v], sum);
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) {
      total[v][0] = vaddw_u16(vshlq_n_u32(total[v][0], kDigitBits), vget_low_u16(low[v]));
      total[v][1] = vaddw_high_u16(vshlq_n_u32(total[v][1], kDigitBits), low[v]);
      total[v][2] = vaddw_u16(vshlq_n_u32(total[v][2], kDigitBits), vget_low_u16(high[v]));
      total[v][3] = vaddw_high_u16(vshlq_n_u32(total[v][3], kDigitBits), high[v]);
    }
  }
  for (int v = 0; v < N; ++v)
    for (int q = 0; q < 4; ++q) {
      double* to = sums + v * kRows + 4 * q;
      const uint64x2_t low = vmovl_u32(vget_low_u32(total[v][q])), high = vmovl_high_u32(total[v][q]);
      vst1q_f64(to, vaddq_f64(vld1q_f64(to), vcvtq_f64_u64(low)));
      vst1q_f64(to + 2, vaddq_f64(vld1q_f64(to + 2), vcvtq_f64_u64(high)));
    }
}

void multiply(const void* bits, const void* tables, std::size_t n_words, std::size_t n_rows, double* sums) {
  const auto *from = static_cast<const std::uint8_t*>(bits), *entries = static_cast<const std::uint8_t*>(tables);
  const std::size_t n_quads = kWordQuads * n_words;
  constexpr std::size_t whole = kRegisters * kRows;
  std::size_t i = 0;
  for (; i + whole - kRows < n_rows; i += whole) sum_rows<kRegisters>(from + i, entries, n_quads, sums + i);
  for (; i < n_rows; i += kRows) sum_rows<1>(from + i, entries, n_quads, sums + i);
}

}  // namespace

const BitDotOp bit_dot = {nibbles::panel_bytes, weights_bytes, nibbles::Nibbles<Bytes>::prepare, prepare_weights,
                          multiply};

}  // namespace lowtide::neon
