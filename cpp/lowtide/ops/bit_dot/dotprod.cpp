// tbl, udot: a register holds 4 rows of four nibbles, each of which picks a byte of one of four tables of 16 in four
// registers; the four bytes of a row are added to its 32-bit sum. Three digits of a byte make three of either
// instruction for 64 bits, where widening by hand needs four digits. Blocks of 16 rows keep 12 sums in registers, beside
// four of a table and four of nibbles. Binds: tbl of four registers.
#include <arm_neon.h>

#include "lowtide/ops/bit_dot/tables.hpp"

namespace lowtide::dotprod {
namespace {

// The four quads of a word; nibble c of a quad is a place in table c.
inline uint32x4_t quads_of(std::uint64_t word) {
  const uint8x8_t bytes = vcreate_u8(word), low = vand_u8(bytes, vdup_n_u8(15)), high = vshr_n_u8(bytes, 4);
  const uint8x16_t nibbles = vcombine_u8(vzip1_u8(low, high), vzip2_u8(low, high));
  return vorrq_u32(vreinterpretq_u32_u8(nibbles), vdupq_n_u32(0x30201000));
}

struct V {
  static constexpr int digits = 3;
  static constexpr std::size_t lanes = 4, rows_at_once = 4;

  static void put_quads(const std::uint64_t* const (&from)[4], std::size_t w, std::uint32_t* to, std::size_t step) {
    const uint32x4_t a = quads_of(from[0][w]), b = quads_of(from[1][w]);
    const uint32x4_t c = quads_of(from[2][w]), d = quads_of(from[3][w]);
    const uint64x2_t even0 = vreinterpretq_u64_u32(vtrn1q_u32(a, b)), odd0 = vreinterpretq_u64_u32(vtrn2q_u32(a, b));
    const uint64x2_t even1 = vreinterpretq_u64_u32(vtrn1q_u32(c, d)), odd1 = vreinterpretq_u64_u32(vtrn2q_u32(c, d));
    vst1q_u32(to, vreinterpretq_u32_u64(vzip1q_u64(even0, even1)));
    vst1q_u32(to + step, vreinterpretq_u32_u64(vzip1q_u64(odd0, odd1)));
    vst1q_u32(to + 2 * step, vreinterpretq_u32_u64(vzip2q_u64(even0, even1)));
    vst1q_u32(to + 3 * step, vreinterpretq_u32_u64(vzip2q_u64(odd0, odd1)));
  }

  static void put(const float* weights, std::uint8_t* to) {
    const float32x4_t zero = vdupq_n_f32(0.0f);
    const float32x4_t low =
        vaddq_f32(float32x4_t{0, weights[0], 0, weights[0]}, float32x4_t{0, 0, weights[1], weights[1]});
    uint8x16x4_t sums;  // of four bits, four a register
    for (int g = 0; g < 4; ++g) {
      const float32x4_t third = g & 1 ? vdupq_n_f32(weights[2]) : zero;
      const float32x4_t fourth = g & 2 ? vdupq_n_f32(weights[3]) : zero;
      sums.val[g] = vreinterpretq_u8_u32(vcvtq_u32_f32(vaddq_f32(vaddq_f32(low, third), fourth)));
    }
    const uint8x16_t first = {0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60};
    for (int d = 0; d < digits; ++d) {
      const uint8x16_t digit = vaddq_u8(first, vdupq_n_u8(static_cast<std::uint8_t>(d)));
      vst1q_u8(to + d * 64, vqtbl4q_u8(sums, digit));
    }
  }

  using Table = uint8x16x4_t;
  using Reg = uint8x16_t;
  using Sum = uint32x4_t;
  static Table table(const std::uint8_t* entries) { return vld1q_u8_x4(entries); }
  static Reg load(const std::uint8_t* bits) { return vld1q_u8(bits); }
  static Sum add_found(Sum sum, const Table& table, Reg nibbles) {
    return vdotq_u32(sum, vqtbl4q_u8(table, nibbles), vdupq_n_u8(1));
  }
  static void add_to(double* sums, const Sum (&digit)[digits]) {
    const uint32x4_t high = vaddq_u32(vshlq_n_u32(digit[1], 8), vshlq_n_u32(digit[2], 16));
    const uint32x4_t sum = vaddq_u32(digit[0], high);
    vst1q_f64(sums, vaddq_f64(vld1q_f64(sums), vcvtq_f64_u64(vmovl_u32(vget_low_u32(sum)))));
    vst1q_f64(sums + 2, vaddq_f64(vld1q_f64(sums + 2), vcvtq_f64_u64(vmovl_high_u32(sum))));
  }
};

}  // namespace

const BitDotOp bit_dot = bit_tables::OfQuads<V>::op;

}  // namespace lowtide::dotprod
