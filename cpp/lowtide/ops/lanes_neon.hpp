// Sixteen floats or 32-bit integers in four registers: what ops on phases and projections, written once over such a type,
// need of NEON. Four registers, because sixteen levels fill one when they are narrowed to bytes, and because the steps
// of a group alone would wait for each other. Only neon.cpp of an op includes it; in an unnamed namespace, so that every
// instance is that file's own.
#pragma once

#include <arm_neon.h>

#include <cstddef>
#include <cstdint>

namespace lowtide::neon {
namespace {

template <class T>
struct Four {
  T part[4];
};

#define LOWTIDE_INLINE [[gnu::always_inline]] inline

template <class F, class A, class... More>
LOWTIDE_INLINE auto each(F f, const Four<A>& a, const Four<More>&... more) {
  return Four<decltype(f(a.part[0], more.part[0]...))>{f(a.part[0], more.part[0]...), f(a.part[1], more.part[1]...),
                                                       f(a.part[2], more.part[2]...), f(a.part[3], more.part[3]...)};
}

struct Lanes {
  using Reg = Four<float32x4_t>;
  using Int = Four<uint32x4_t>;
  using Mask = Four<uint32x4_t>;
  static constexpr std::size_t width = 16;

  LOWTIDE_INLINE static Reg load(const float* p) {
    return {{vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)}};
  }
  LOWTIDE_INLINE static void store(float* p, const Reg& a) {
    vst1q_f32(p, a.part[0]);
    vst1q_f32(p + 4, a.part[1]);
    vst1q_f32(p + 8, a.part[2]);
    vst1q_f32(p + 12, a.part[3]);
  }
  // Stores past the caches are a hint at best here, and none is given.
  LOWTIDE_INLINE static void stream(float* p, const Reg& a) { store(p, a); }
  static void fence() {}
  LOWTIDE_INLINE static Reg all(float a) { return {{vdupq_n_f32(a), vdupq_n_f32(a), vdupq_n_f32(a), vdupq_n_f32(a)}}; }
  LOWTIDE_INLINE static Reg add(const Reg& a, const Reg& b) {
    return each([](auto x, auto y) { return vaddq_f32(x, y); }, a, b);
  }
  LOWTIDE_INLINE static Reg sub(const Reg& a, const Reg& b) {
    return each([](auto x, auto y) { return vsubq_f32(x, y); }, a, b);
  }
  LOWTIDE_INLINE static Reg mul(const Reg& a, const Reg& b) {
    return each([](auto x, auto y) { return vmulq_f32(x, y); }, a, b);
  }
  // Of two numbers; what is not a number is kept out beforehand.
  LOWTIDE_INLINE static Reg min(const Reg& a, const Reg& b) {
    return each([](auto x, auto y) { return vminq_f32(x, y); }, a, b);
  }
  LOWTIDE_INLINE static Reg abs(const Reg& a) {
    return each([](auto x) { return vabsq_f32(x); }, a);
  }
  LOWTIDE_INLINE static Reg floor(const Reg& a) {
    return each([](auto x) { return vrndmq_f32(x); }, a);
  }
  LOWTIDE_INLINE static Reg rint(const Reg& a) {
    return each([](auto x) { return vrndnq_f32(x); }, a);
  }

  LOWTIDE_INLINE static Mask less(const Reg& a, const Reg& b) {
    return each([](auto x, auto y) { return vcltq_f32(x, y); }, a, b);
  }
  LOWTIDE_INLINE static Mask less_equal(const Reg& a, const Reg& b) {
    return each([](auto x, auto y) { return vcleq_f32(x, y); }, a, b);
  }
  LOWTIDE_INLINE static Mask is_number(const Reg& a) {
    return each([](auto x) { return vceqq_f32(x, x); }, a);
  }
  LOWTIDE_INLINE static Reg keep(const Mask& where, const Reg& a) {  // else 0
    return each([](auto m, auto x) { return vreinterpretq_f32_u32(vandq_u32(m, vreinterpretq_u32_f32(x))); }, where, a);
  }

  LOWTIDE_INLINE static Int all_ints(std::uint32_t a) {
    return {{vdupq_n_u32(a), vdupq_n_u32(a), vdupq_n_u32(a), vdupq_n_u32(a)}};
  }
  LOWTIDE_INLINE static Int ramp() {
    const uint32x4_t first = {0, 1, 2, 3}, four = vdupq_n_u32(4);
    const uint32x4_t second = vaddq_u32(first, four), third = vaddq_u32(second, four);
    return {{first, second, third, vaddq_u32(third, four)}};
  }
  LOWTIDE_INLINE static Int add_ints(const Int& a, const Int& b) {
    return each([](auto x, auto y) { return vaddq_u32(x, y); }, a, b);
  }
  LOWTIDE_INLINE static Int mul_ints(const Int& a, const Int& b) {
    return each([](auto x, auto y) { return vmulq_u32(x, y); }, a, b);
  }
  LOWTIDE_INLINE static Int xor_ints(const Int& a, const Int& b) {
    return each([](auto x, auto y) { return veorq_u32(x, y); }, a, b);
  }
  LOWTIDE_INLINE static Int or_ints(const Int& a, const Int& b) {
    return each([](auto x, auto y) { return vorrq_u32(x, y); }, a, b);
  }
  template <int N>
  LOWTIDE_INLINE static Int shift_left(const Int& a) {
    return each([](auto x) { return vshlq_n_u32(x, N); }, a);
  }
  template <int N>
  LOWTIDE_INLINE static Int shift_right(const Int& a) {
    return each([](auto x) { return vshrq_n_u32(x, N); }, a);
  }
  LOWTIDE_INLINE static Int add_where(const Mask& where, const Int& a, std::uint32_t b) {
    const uint32x4_t wide = vdupq_n_u32(b);
    return each([=](auto m, auto x) { return vaddq_u32(x, vandq_u32(m, wide)); }, where, a);
  }
  LOWTIDE_INLINE static Int xor_where(const Mask& where, const Int& a, std::uint32_t b) {
    const uint32x4_t wide = vdupq_n_u32(b);
    return each([=](auto m, auto x) { return veorq_u32(x, vandq_u32(m, wide)); }, where, a);
  }
  LOWTIDE_INLINE static Int bits_of(const Reg& a) {
    return each([](auto x) { return vreinterpretq_u32_f32(x); }, a);
  }
  LOWTIDE_INLINE static Int truncated(const Reg& a) {
    return each([](auto x) { return vreinterpretq_u32_s32(vcvtq_s32_f32(x)); }, a);
  }
  // Integers below 2^24, over 2^24.
  LOWTIDE_INLINE static Reg fractions(const Int& a) {
    return each([](auto x) { return vcvtq_n_f32_u32(x, 24); }, a);
  }
  // The floor, or where that is below 0 or above top, these: the conversion itself gives 0 for what is below.
  LOWTIDE_INLINE static Int floor_within(const Reg& a, float top) {
    const uint32x4_t most = vdupq_n_u32(static_cast<std::uint32_t>(top));
    return each([=](auto x) { return vminq_u32(vcvtmq_u32_f32(x), most); }, a);
  }

  // One load a lane: there is no other way.
  LOWTIDE_INLINE static Reg gather(const float* from, const Int& at) {
    return each(
        [=](uint32x4_t i) {
          const float found[4] = {from[vgetq_lane_u32(i, 0)], from[vgetq_lane_u32(i, 1)], from[vgetq_lane_u32(i, 2)],
                                  from[vgetq_lane_u32(i, 3)]};
          return vld1q_f32(found);
        },
        at);
  }
  LOWTIDE_INLINE static Int gather(const std::int32_t* from, const Int& at) {
    return bits_of(gather(reinterpret_cast<const float*>(from), at));
  }
  // The same from a table of at most 16 entries, four bytes each: those of lane i are 4 i to 4 i + 3.
  template <int Entries = 16>
  LOWTIDE_INLINE static Reg pick(const float* table, const Int& at) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(table);
    const uint32x4_t four = vdupq_n_u32(0x04040404), first = vdupq_n_u32(0x03020100);
    return each(
        [=](uint32x4_t i) {
          const uint8x16_t places = vreinterpretq_u8_u32(vmlaq_u32(first, i, four));
          return vreinterpretq_f32_u8(look_up<Entries>(bytes, places));
        },
        at);
  }
  template <int Entries>
  LOWTIDE_INLINE static uint8x16_t look_up(const std::uint8_t* table, uint8x16_t places) {
    if constexpr (Entries <= 4)
      return vqtbl1q_u8(vld1q_u8(table), places);
    else if constexpr (Entries <= 8)
      return vqtbl2q_u8(vld1q_u8_x2(table), places);
    else
      return vqtbl4q_u8(vld1q_u8_x4(table), places);
  }

  // The lowest byte of every lane, and the two lowest ones.
  LOWTIDE_INLINE static uint8x16_t low_bytes(const Int& a) {
    return vuzp1q_u8(vreinterpretq_u8_u16(low_pairs(a.part[0], a.part[1])),
                     vreinterpretq_u8_u16(low_pairs(a.part[2], a.part[3])));
  }
  LOWTIDE_INLINE static uint16x8_t low_pairs(uint32x4_t a, uint32x4_t b) {
    return vuzp1q_u16(vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b));
  }
  LOWTIDE_INLINE static void store_pairs(std::uint8_t* out, const Int& a) {
    vst1q_u8(out, vreinterpretq_u8_u16(low_pairs(a.part[0], a.part[1])));
    vst1q_u8(out + 16, vreinterpretq_u8_u16(low_pairs(a.part[2], a.part[3])));
  }
  LOWTIDE_INLINE static void store_bytes(std::uint8_t* out, const Int& a) { vst1q_u8(out, low_bytes(a)); }

  // A bit for each of 64 bytes that are all ones or zero.
  LOWTIDE_INLINE static std::uint64_t bits_of_bytes(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d) {
    const uint8x16_t place = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201u));
    const uint8x16_t low = vpaddq_u8(vandq_u8(a, place), vandq_u8(b, place));
    const uint8x16_t high = vpaddq_u8(vandq_u8(c, place), vandq_u8(d, place));
    const uint8x16_t both = vpaddq_u8(low, high);
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(both, both)), 0);
  }
  LOWTIDE_INLINE static std::uint64_t word(const Mask (&m)[4]) {
    return bits_of_bytes(low_bytes(m[0]), low_bytes(m[1]), low_bytes(m[2]), low_bytes(m[3]));
  }

  // a and b in turn.
  LOWTIDE_INLINE static void interleave(const Reg& a, const Reg& b, Reg& first, Reg& second) {
    first = {{vzip1q_f32(a.part[0], b.part[0]), vzip2q_f32(a.part[0], b.part[0]), vzip1q_f32(a.part[1], b.part[1]),
              vzip2q_f32(a.part[1], b.part[1])}};
    second = {{vzip1q_f32(a.part[2], b.part[2]), vzip2q_f32(a.part[2], b.part[2]), vzip1q_f32(a.part[3], b.part[3]),
               vzip2q_f32(a.part[3], b.part[3])}};
  }
};

#undef LOWTIDE_INLINE

}  // namespace
}  // namespace lowtide::neon
