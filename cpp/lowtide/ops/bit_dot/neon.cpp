// tbl, add, uaddw: the nibbles of 16 rows pick a byte each of a table. Four digits of six bits, so that four look-ups are
// added as bytes before they are widened: nine instructions for a digit of 256 bits. 64 quads of nibbles in a run stay
// below 2^16. Binds: the vector pipes that all of these share. Blocks of 64 rows keep 8 registers of sums.
#include "lowtide/ops/bit_dot/tables.hpp"
#include "lowtide/ops/bytes_neon.hpp"

namespace lowtide::neon {
namespace {

constexpr int kDigitBits = 6;

// The sums of four weights by the bits of 0 to 15, four a register.
inline void sums_of(const float* weights, uint32x4_t (&sums)[4]) {
  const float32x4_t zero = vdupq_n_f32(0.0f), first = {0, weights[0], 0, weights[0]};
  const float32x4_t low = vaddq_f32(first, float32x4_t{0, 0, weights[1], weights[1]});
  for (int g = 0; g < 4; ++g) {
    const float32x4_t third = g & 1 ? vdupq_n_f32(weights[2]) : zero, fourth = g & 2 ? vdupq_n_f32(weights[3]) : zero;
    sums[g] = vcvtq_u32_f32(vaddq_f32(vaddq_f32(low, third), fourth));
  }
}

struct V : Bytes {
  static constexpr int digits = 4;

  static void put(const float* weights, std::uint8_t* to) {
    const uint32x4_t six = vdupq_n_u32((1 << kDigitBits) - 1);
    uint32x4_t sums[4];
    sums_of(weights, sums);
    for (int d = 0; d < digits; ++d) {
      uint16x8_t half[2];
      for (int h = 0; h < 2; ++h)
        half[h] = vuzp1q_u16(vreinterpretq_u16_u32(vandq_u32(sums[2 * h], six)),
                             vreinterpretq_u16_u32(vandq_u32(sums[2 * h + 1], six)));
      vst1q_u8(to + d * 64, vuzp1q_u8(vreinterpretq_u8_u16(half[0]), vreinterpretq_u8_u16(half[1])));
      for (uint32x4_t& sum : sums) sum = vshrq_n_u32(sum, kDigitBits);
    }
  }

  struct Sum {
    uint16x8_t low, high;
  };
  static void widen(Sum& sum, Reg bytes) {
    sum.low = vaddw_u8(sum.low, vget_low_u8(bytes));
    sum.high = vaddw_high_u8(sum.high, bytes);
  }

  struct Total {
    uint32x4_t part[4];
  };
  static void add_digit(Total& total, const Sum& sum, int) {
    for (uint32x4_t& part : total.part) part = vshlq_n_u32(part, kDigitBits);
    total.part[0] = vaddw_u16(total.part[0], vget_low_u16(sum.low));
    total.part[1] = vaddw_high_u16(total.part[1], sum.low);
    total.part[2] = vaddw_u16(total.part[2], vget_low_u16(sum.high));
    total.part[3] = vaddw_high_u16(total.part[3], sum.high);
  }
  static void add_to(double* sums, const Total& total) {
    for (int q = 0; q < 4; ++q, sums += 4) {
      const uint64x2_t low = vmovl_u32(vget_low_u32(total.part[q])), high = vmovl_high_u32(total.part[q]);
      vst1q_f64(sums, vaddq_f64(vld1q_f64(sums), vcvtq_f64_u64(low)));
      vst1q_f64(sums + 2, vaddq_f64(vld1q_f64(sums + 2), vcvtq_f64_u64(high)));
    }
  }
};

}  // namespace

const BitDotOp bit_dot = bit_tables::OfNibbles<V>::op;

}  // namespace lowtide::neon
