// and, cnt, add, uadalp: the ones of two registers of a pair are counted by bytes, added, and added to 16-bit counters in
// pairs, six instructions for 256 bits. Blocks of 4 x 4 rows keep 16 counters in registers beside eight registers of the
// right side. Binds: the vector pipes that all of these share; carry-save adders would take more instructions, not
// fewer. A counter grows by at most 32 a line, so a run of 256 words stays far below 2^16.
#include <arm_neon.h>

#include "lowtide/ops/code_dot/lines.hpp"

namespace lowtide::neon {
namespace {

struct V {
  struct Reg {
    uint64x2_t low, high;
  };
  using Counter = uint16x8_t;
  static constexpr std::size_t words = 4;
  static Counter zero() { return vdupq_n_u16(0); }
  static Reg load(const std::uint64_t* p) { return {vld1q_u64(p), vld1q_u64(p + 2)}; }
  static void store(std::uint64_t* p, Reg a) {
    vst1q_u64(p, a.low);
    vst1q_u64(p + 2, a.high);
  }
  static Reg both(Reg a, Reg b) { return {vandq_u64(a.low, b.low), vandq_u64(a.high, b.high)}; }
  static Counter add_ones(Counter total, Reg bits) {
    const uint8x16_t low = vcntq_u8(vreinterpretq_u8_u64(bits.low)), high = vcntq_u8(vreinterpretq_u8_u64(bits.high));
    return vpadalq_u8(total, vaddq_u8(low, high));
  }

  // Sums of the counters of four pairs.
  static uint32x4_t across(const Counter (&row)[4]) {
    const uint32x4_t low = vpaddq_u32(vpaddlq_u16(row[0]), vpaddlq_u16(row[1]));
    const uint32x4_t high = vpaddq_u32(vpaddlq_u16(row[2]), vpaddlq_u16(row[3]));
    return vpaddq_u32(low, high);
  }
  static void add_sums(const Counter (&total)[4][4], std::int32_t* sums, std::size_t stride) {
    for (std::size_t p = 0; p < 4; ++p) {
      const int32x4_t more = vreinterpretq_s32_u32(across(total[p]));
      vst1q_s32(sums + p * stride, vaddq_s32(vld1q_s32(sums + p * stride), more));
    }
  }
};

using Panels = dot_lines::Lines<V>;

}  // namespace

// A panel of 256 words takes 256 KB: the right one of a product stays in L2.
const DotOp code_dot = {256, Panels::panel_bytes, Panels::prepare, Panels::multiply};

std::uint32_t code_ones(const std::uint64_t* row, std::size_t n_words) {
  uint32x4_t total = vdupq_n_u32(0);
  std::size_t w = 0;
  const auto ones_at = [&](std::size_t at) { return vcntq_u8(vreinterpretq_u8_u64(vld1q_u64(row + at))); };
  // Eight words at a time: a byte of them has at most 32 ones.
  for (; w + 8 <= n_words; w += 8) {
    const uint8x16_t low = vaddq_u8(ones_at(w), ones_at(w + 2)), high = vaddq_u8(ones_at(w + 4), ones_at(w + 6));
    total = vpadalq_u16(total, vpaddlq_u8(vaddq_u8(low, high)));
  }
  std::uint32_t ones = vaddvq_u32(total);
  for (; w < n_words; ++w) ones += vaddv_u8(vcnt_u8(vcreate_u8(row[w])));
  return ones;
}

}  // namespace lowtide::neon
