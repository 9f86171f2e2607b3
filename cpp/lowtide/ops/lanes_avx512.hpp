// Sixteen floats or 32-bit integers in a register: what ops on phases and projections, written once over such a type,
// need of AVX-512. Only avx512.cpp of an op includes it; in an unnamed namespace, so that every instance is that file's
// own.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace lowtide::avx512 {
namespace {

struct Lanes {
  using Reg = __m512;
  using Int = __m512i;
  using Mask = __mmask16;
  static constexpr std::size_t width = 16;

  static Reg load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Reg a) { _mm512_storeu_ps(p, a); }
  static void stream(float* p, Reg a) { _mm512_stream_ps(p, a); }
  static void fence() { _mm_sfence(); }
  static Reg all(float a) { return _mm512_set1_ps(a); }
  static Reg add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
  static Reg sub(Reg a, Reg b) { return _mm512_sub_ps(a, b); }
  static Reg mul(Reg a, Reg b) { return _mm512_mul_ps(a, b); }
  static Reg fmadd(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
  static Reg min(Reg a, Reg b) { return _mm512_min_ps(a, b); }
  static Reg max(Reg a, Reg b) { return _mm512_max_ps(a, b); }
  static Reg abs(Reg a) { return _mm512_abs_ps(a); }
  static Reg floor(Reg a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
  static Reg rint(Reg a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

  static float sum(Reg a) { return _mm512_reduce_add_ps(a); }

  static Mask less(Reg a, Reg b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
  static Mask less_equal(Reg a, Reg b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
  static Mask is_number(Reg a) { return _mm512_cmp_ps_mask(a, a, _CMP_ORD_Q); }
  static Reg keep(Mask where, Reg a) { return _mm512_maskz_mov_ps(where, a); }  // else 0
  // A bit for each of 64 lanes.
  static std::uint64_t word(const Mask (&m)[4]) {
    std::uint64_t bits = 0;
#pragma GCC unroll 4
    for (std::size_t g = 0; g < 4; ++g) bits |= static_cast<std::uint64_t>(m[g]) << (16 * g);
    return bits;
  }

  static Int all_ints(std::uint32_t a) { return _mm512_set1_epi32(static_cast<int>(a)); }
  static Int ramp() { return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); }
  static Int add_ints(Int a, Int b) { return _mm512_add_epi32(a, b); }
  static Int mul_ints(Int a, Int b) { return _mm512_mullo_epi32(a, b); }
  static Int xor_ints(Int a, Int b) { return _mm512_xor_si512(a, b); }
  static Int or_ints(Int a, Int b) { return _mm512_or_si512(a, b); }
  template <int N>
  static Int shift_left(Int a) {
    return _mm512_slli_epi32(a, N);
  }
  template <int N>
  static Int shift_right(Int a) {
    return _mm512_srli_epi32(a, N);
  }
  static Int add_where(Mask where, Int a, std::uint32_t b) { return _mm512_mask_add_epi32(a, where, a, all_ints(b)); }
  static Int xor_where(Mask where, Int a, std::uint32_t b) { return _mm512_mask_xor_epi32(a, where, a, all_ints(b)); }
  static Int bits_of(Reg a) { return _mm512_castps_si512(a); }
  static Int truncated(Reg a) { return _mm512_cvttps_epi32(a); }
  static Reg floats(Int a) { return _mm512_cvtepi32_ps(a); }
  // Integers below 2^24, over 2^24.
  static Reg fractions(Int a) { return mul(floats(a), all(0x1p-24f)); }
  // The floor, or where that is below 0 or above top, these.
  static Int floor_within(Reg a, float top) { return truncated(min(max(floor(a), all(0.0f)), all(top))); }
  static Reg gather(const float* from, Int at) { return _mm512_i32gather_ps(at, from, 4); }
  static Int gather(const std::int32_t* from, Int at) { return _mm512_i32gather_epi32(at, from, 4); }

  // The two low bytes of every lane, and the lowest one; the others are 0.
  static void store_pairs(std::uint8_t* out, Int a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_cvtepi32_epi16(a));
  }
  static void store_bytes(std::uint8_t* out, Int a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_cvtepi32_epi8(a));
  }

  // a and b in turn.
  static void interleave(Reg a, Reg b, Reg& first, Reg& second) {
    const Int low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    first = _mm512_permutex2var_ps(a, low, b);
    second = _mm512_permutex2var_ps(a, add_ints(low, all_ints(8)), b);
  }
};

}  // namespace
}  // namespace lowtide::avx512
