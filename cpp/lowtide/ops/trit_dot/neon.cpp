// and, eor, and, cnt twice and uadalp twice on blocks of 4 x 2 rows: seven instructions for 128 trits of a pair, 16
// registers of counters. Binds: the vector pipes that all of these share. A counter grows by at most 16 a line, so a run
// of 256 words stays far below 2^16.
#include <arm_neon.h>

#include "lowtide/ops/trit_dot/planes.hpp"

namespace lowtide::neon {
namespace {

struct V {
  using Reg = uint64x2_t;
  using Counter = uint16x8_t;
  static constexpr std::size_t words = 2;
  static Counter zero() { return vdupq_n_u16(0); }
  static Reg load(const std::uint64_t* p) { return vld1q_u64(p); }
  static void store(std::uint64_t* p, Reg a) { vst1q_u64(p, a); }
  static Reg shifted_up(Reg a) { return vshlq_n_u64(a, 1); }
  static Reg shifted_down(Reg a) { return vshrq_n_u64(a, 1); }
  static Reg differ(Reg a, Reg b) { return veorq_u64(a, b); }
  static Reg both(Reg a, Reg b) { return vandq_u64(a, b); }
  // Even bits of a, odd bits of b.
  static Reg even_odd(Reg a, Reg b) { return vbslq_u64(vdupq_n_u64(0x5555555555555555u), a, b); }
  static Reg where_differ(Reg x, Reg y, Reg z) { return both(x, differ(y, z)); }
  static Counter add_ones(Counter total, Reg bits) { return vpadalq_u8(total, vcntq_u8(vreinterpretq_u8_u64(bits))); }

  // Sums of the counters of two pairs, in the lower half.
  static int32x2_t across(const Counter (&row)[2]) {
    const uint32x4_t both = vpaddq_u32(vpaddlq_u16(row[0]), vpaddlq_u16(row[1]));
    return vreinterpret_s32_u32(vpadd_u32(vget_low_u32(both), vget_high_u32(both)));
  }
  static void add_sums(const Counter (&common)[4][2], const Counter (&opposite)[4][2], std::int32_t* sums,
                       std::size_t stride) {
    for (std::size_t p = 0; p < 4; ++p) {
      const int32x2_t more = vmls_n_s32(across(common[p]), across(opposite[p]), 2);
      vst1_s32(sums + p * stride, vadd_s32(vld1_s32(sums + p * stride), more));
    }
  }
};

using Panels = trit_planes::Planes<V>;

}  // namespace

// A panel of 256 words takes 256 KB: the right one of a product stays in L2.
const DotOp trit_dot = {256, Panels::panel_bytes, Panels::prepare, Panels::multiply};

}  // namespace lowtide::neon
