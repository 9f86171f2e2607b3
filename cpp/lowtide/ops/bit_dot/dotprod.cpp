// tbl, udot: a register holds 4 rows of four nibbles, each of which picks a byte of one of four tables of 16 in four
// registers; the four bytes of a row are added to its 32-bit sum. Three digits of a byte make three of either
// instruction for 64 bits, where widening by hand needs four digits. Blocks of 16 rows keep 12 sums in registers, beside
// twelve of tables. Binds: tbl of four registers.
#include <arm_neon.h>

#include "lowtide/ops/bit_dot/bit_dot.hpp"

namespace lowtide::dotprod {
namespace {

constexpr int kRegisters = 4, kDigits = 3;
constexpr std::size_t kLanes = 4, kBlock = kRegisters * kLanes;
constexpr std::size_t kWordQuads = 4;  // of four nibbles

// [block of 16 rows][quad][row][nibble]
std::size_t bits_bytes(std::size_t n_words) { return kDotRows * kWordQuads * n_words * sizeof(std::uint32_t); }

// [quad][digit][nibble][16 entries]
std::size_t weights_bytes(std::size_t n_words) { return kWordQuads * n_words * kDigits * 64; }

// The four quads of a word; nibble c of a quad is a place in table c.
inline uint32x4_t quads_of(std::uint64_t word) {
  const uint8x8_t bytes = vcreate_u8(word), low = vand_u8(bytes, vdup_n_u8(15)), high = vshr_n_u8(bytes, 4);
  const uint8x16_t nibbles = vcombine_u8(vzip1_u8(low, high), vzip2_u8(low, high));
  return vorrq_u32(vreinterpretq_u32_u8(nibbles), vdupq_n_u32(0x30201000));
}

// Four rows at a time. The last block is filled up with its last row.
void prepare_bits(const std::uint64_t* rows, std::size_t n_rows, std::size_t stride, std::size_t n_words, void* bits) {
  const std::size_t filled = (n_rows + kBlock - 1) / kBlock * kBlock;
  for (std::size_t i = 0; i < filled; i += kLanes) {
    const std::uint64_t* from[kLanes];
    for (std::size_t r = 0; r < kLanes; ++r) from[r] = rows + (i + r < n_rows ? i + r : n_rows - 1) * stride;
    auto* to = static_cast<std::uint32_t*>(bits) + i / kBlock * kBlock * kWordQuads * n_words + i % kBlock;
    for (std::size_t w = 0; w < n_words; ++w, to += kWordQuads * kBlock) {
      const uint32x4_t a = quads_of(from[0][w]), b = quads_of(from[1][w]);
      const uint32x4_t c = quads_of(from[2][w]), d = quads_of(from[3][w]);
      const uint64x2_t even0 = vreinterpretq_u64_u32(vtrn1q_u32(a, b)), odd0 = vreinterpretq_u64_u32(vtrn2q_u32(a, b));
      const uint64x2_t even1 = vreinterpretq_u64_u32(vtrn1q_u32(c, d)), odd1 = vreinterpretq_u64_u32(vtrn2q_u32(c, d));
      vst1q_u32(to, vreinterpretq_u32_u64(vzip1q_u64(even0, even1)));
      vst1q_u32(to + kBlock, vreinterpretq_u32_u64(vzip1q_u64(odd0, odd1)));
      vst1q_u32(to + 2 * kBlock, vreinterpretq_u32_u64(vzip2q_u64(even0, even1)));
      vst1q_u32(to + 3 * kBlock, vreinterpretq_u32_u64(vzip2q_u64(odd0, odd1)));
    }
  }
}

void prepare_weights(const float* weights, std::size_t n_words, void* tables) {
  const float32x4_t zero = vdupq_n_f32(0.0f);
  auto* to = static_cast<std::uint8_t*>(tables);
  for (std::size_t quad = 0; quad < kWordQuads * n_words; ++quad, to += kDigits * 64)
    for (int nibble = 0; nibble < 4; ++nibble, weights += 4) {
      const float32x4_t low =
          vaddq_f32(float32x4_t{0, weights[0], 0, weights[0]}, float32x4_t{0, 0, weights[1], weights[1]});
      uint8x16x4_t sums;  // of four bits, four a register
      for (int g = 0; g < 4; ++g) {
        const float32x4_t third = g & 1 ? vdupq_n_f32(weights[2]) : zero;
        const float32x4_t fourth = g & 2 ? vdupq_n_f32(weights[3]) : zero;
        sums.val[g] = vreinterpretq_u8_u32(vcvtq_u32_f32(vaddq_f32(vaddq_f32(low, third), fourth)));
      }
      const uint8x16_t first = {0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60};
      for (int d = 0; d < kDigits; ++d) {
        const uint8x16_t digit = vaddq_u8(first, vdupq_n_u8(static_cast<std::uint8_t>(d)));
        vst1q_u8(to + d * 64 + nibble * 16, vqtbl4q_u8(sums, digit));
      }
    }
}

void sum_block(const std::uint8_t* bits, const std::uint8_t* tables, std::size_t n_quads, double* sums) {
  const uint8x16_t ones = vdupq_n_u8(1);
  uint32x4_t total[kRegisters][kDigits];
#pragma GCC unroll 4
  for (int r = 0; r < kRegisters; ++r) {
#pragma GCC unroll 3
    for (int d = 0; d < kDigits; ++d) total[r][d] = vdupq_n_u32(0);
  }
  for (std::size_t quad = 0; quad < n_quads; ++quad, bits += kRegisters * 16, tables += kDigits * 64) {
#pragma GCC unroll 3
    for (int d = 0; d < kDigits; ++d) {
      const uint8x16x4_t table = vld1q_u8_x4(tables + d * 64);
#pragma GCC unroll 4
      for (int r = 0; r < kRegisters; ++r)
        total[r][d] = vdotq_u32(total[r][d], vqtbl4q_u8(table, vld1q_u8(bits + r * 16)), ones);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < kRegisters; ++r, sums += kLanes) {
    const uint32x4_t high = vaddq_u32(vshlq_n_u32(total[r][1], 8), vshlq_n_u32(total[r][2], 16));
    const uint32x4_t sum = vaddq_u32(total[r][0], high);
    vst1q_f64(sums, vaddq_f64(vld1q_f64(sums), vcvtq_f64_u64(vmovl_u32(vget_low_u32(sum)))));
    vst1q_f64(sums + 2, vaddq_f64(vld1q_f64(sums + 2), vcvtq_f64_u64(vmovl_high_u32(sum))));
  }
}

void multiply(const void* bits, const void* tables, std::size_t n_words, std::size_t n_rows, double* sums) {
  const std::size_t n_quads = kWordQuads * n_words;
  for (std::size_t i = 0; i < n_rows; i += kBlock)
    sum_block(static_cast<const std::uint8_t*>(bits) + i * n_quads * sizeof(std::uint32_t),
              static_cast<const std::uint8_t*>(tables), n_quads, sums + i);
}

}  // namespace

const BitDotOp bit_dot = {bits_bytes, weights_bytes, prepare_bits, prepare_weights, multiply};

}  // namespace lowtide::dotprod
