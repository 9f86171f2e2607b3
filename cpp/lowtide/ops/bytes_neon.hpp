// Sixteen bytes in a register, and sixteen floats looked up by them: what ops on bytes and nibbles, written once over
// register types, need of NEON. Only neon.cpp of an op includes it; in an unnamed namespace, so that every instance is
// that file's own.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

namespace lowtide::neon {
namespace {

struct Bytes {
  using Reg = uint8x16_t;
  static constexpr std::size_t bytes = 16;
  static Reg zero() { return vdupq_n_u8(0); }
  static Reg load(const std::uint8_t* p) { return vld1q_u8(p); }
  static void store(std::uint8_t* p, Reg a) { vst1q_u8(p, a); }
  static Reg add_bytes(Reg a, Reg b) { return vaddq_u8(a, b); }
  static Reg low_nibbles(Reg a) { return vandq_u8(a, vdupq_n_u8(15)); }
  static Reg high_nibbles(Reg a) { return vshrq_n_u8(a, 4); }
  static Reg table(const std::uint8_t* entry) { return vld1q_u8(entry); }
  static Reg look_up(Reg table, Reg nibbles) { return vqtbl1q_u8(table, nibbles); }
  static Reg zip_low(Reg a, Reg b) { return vzip1q_u8(a, b); }
  static Reg zip_high(Reg a, Reg b) { return vzip2q_u8(a, b); }
  // 16 bytes of a row, or 8.
  static Reg load(const std::uint8_t* p, bool whole) {
    return whole ? vld1q_u8(p) : vcombine_u8(vld1_u8(p), vdup_n_u8(0));
  }
  static Reg load_rows(const std::uint8_t* const (&row)[16], int i, std::size_t b, bool whole) {
    return load(row[i] + b, whole);
  }
};

// Sixteen floats by their bytes, byte b of all of them in a register: tbl looks sixteen of each up at once, and two
// rounds of zip put floats together again.
struct FloatTable {
  uint8x16x4_t plane;

  explicit FloatTable(const float* entries) : plane(vld4q_u8(reinterpret_cast<const std::uint8_t*>(entries))) {}

  // at: below 16.
  [[gnu::always_inline]] void find(uint8x16_t at, float32x4_t (&found)[4]) const {
    join(vqtbl1q_u8(plane.val[0], at), vqtbl1q_u8(plane.val[1], at), vqtbl1q_u8(plane.val[2], at),
         vqtbl1q_u8(plane.val[3], at), found);
  }

  [[gnu::always_inline]] static void join(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d,
                                          float32x4_t (&found)[4]) {
    const uint16x8_t low0 = vreinterpretq_u16_u8(vzip1q_u8(a, b)), low1 = vreinterpretq_u16_u8(vzip2q_u8(a, b));
    const uint16x8_t high0 = vreinterpretq_u16_u8(vzip1q_u8(c, d)), high1 = vreinterpretq_u16_u8(vzip2q_u8(c, d));
    found[0] = vreinterpretq_f32_u16(vzip1q_u16(low0, high0));
    found[1] = vreinterpretq_f32_u16(vzip2q_u16(low0, high0));
    found[2] = vreinterpretq_f32_u16(vzip1q_u16(low1, high1));
    found[3] = vreinterpretq_f32_u16(vzip2q_u16(low1, high1));
  }
};

}  // namespace
}  // namespace lowtide::neon
