// tbl is sixteen table entries for 16 rows at once. Binds: the vector pipes, which a look-up and its addition share, and
// the loads of tables, one a look-up. Up to eight queries use the nibbles of 16 rows together; their sums stay in
// registers. Tail: the last 8 bytes of a row are loaded alone.
#include "lowtide/ops/bytes_neon.hpp"
#include "lowtide/ops/code_scan/look_ups.hpp"

namespace lowtide::neon {
namespace {

struct V : Bytes {
  static constexpr int queries = 8;
  static uint16x8_t words(Reg a) { return vreinterpretq_u16_u8(a); }
  static Reg bytes_of(uint16x8_t a) { return vreinterpretq_u8_u16(a); }
  static Reg add_words(Reg a, Reg b) { return bytes_of(vaddq_u16(words(a), words(b))); }
  static Reg odd_bytes(Reg a) { return bytes_of(vshrq_n_u16(words(a), 8)); }
  static Reg evened(Reg even, Reg odd) { return bytes_of(vsubq_u16(words(even), vshlq_n_u16(words(odd), 8))); }

  static std::uint32_t reached(Reg even, Reg odd, std::uint16_t limit) {
    const uint16x8_t wide = vdupq_n_u16(limit), low = vcgeq_u16(words(even), wide), high = vcgeq_u16(words(odd), wide);
    const Reg rows = bytes_of(vsliq_n_u16(low, high, 8));
    const Reg place = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201u)), some = vandq_u8(rows, place);
    const Reg fours = vpaddq_u8(vpaddq_u8(some, some), some);
    return vgetq_lane_u16(words(vpaddq_u8(fours, fours)), 0);
  }
  static void store_rows(Reg even, Reg odd, std::uint16_t* sums) { vst2q_u16(sums, {{words(even), words(odd)}}); }
};

using Scan = scan_look_ups::LookUps<V>;

}  // namespace

const ScanOp code_scan = {Scan::interleave, Scan::scan};

}  // namespace lowtide::neon
