// Eight floats or 32-bit integers in a register: what ops on phases and projections, written once over such a type, need
// of AVX2. Only avx2.cpp of an op includes it; in an unnamed namespace, so that every instance is that file's own.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace lowtide::avx2 {
namespace {

struct Lanes {
  using Reg = __m256;
  using Int = __m256i;
  using Mask = __m256;
  static constexpr std::size_t width = 8;

  static Reg load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, Reg a) { _mm256_storeu_ps(p, a); }
  static void stream(float* p, Reg a) { _mm256_stream_ps(p, a); }
  static void fence() { _mm_sfence(); }
  static Reg all(float a) { return _mm256_set1_ps(a); }
  static Reg add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
  static Reg sub(Reg a, Reg b) { return _mm256_sub_ps(a, b); }
  static Reg mul(Reg a, Reg b) { return _mm256_mul_ps(a, b); }
  static Reg fmadd(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
  static Reg min(Reg a, Reg b) { return _mm256_min_ps(a, b); }
  static Reg max(Reg a, Reg b) { return _mm256_max_ps(a, b); }
  static Reg abs(Reg a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
  static Reg floor(Reg a) { return _mm256_floor_ps(a); }
  static Reg rint(Reg a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

  static float sum(Reg a) {
    const __m128 half = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 pair = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
  }

  static Mask less(Reg a, Reg b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
  static Mask less_equal(Reg a, Reg b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
  static Mask is_number(Reg a) { return _mm256_cmp_ps(a, a, _CMP_ORD_Q); }
  static Reg keep(Mask where, Reg a) { return _mm256_and_ps(a, where); }  // else 0
  // A bit for each of 64 lanes.
  static std::uint64_t word(const Mask (&m)[8]) {
    std::uint64_t bits = 0;
#pragma GCC unroll 8
    for (std::size_t g = 0; g < 8; ++g) bits |= static_cast<std::uint64_t>(_mm256_movemask_ps(m[g])) << (8 * g);
    return bits;
  }

  static Int all_ints(std::uint32_t a) { return _mm256_set1_epi32(static_cast<int>(a)); }
  static Int ramp() { return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7); }
  static Int add_ints(Int a, Int b) { return _mm256_add_epi32(a, b); }
  static Int mul_ints(Int a, Int b) { return _mm256_mullo_epi32(a, b); }
  static Int xor_ints(Int a, Int b) { return _mm256_xor_si256(a, b); }
  static Int or_ints(Int a, Int b) { return _mm256_or_si256(a, b); }
  template <int N>
  static Int shift_left(Int a) {
    return _mm256_slli_epi32(a, N);
  }
  template <int N>
  static Int shift_right(Int a) {
    return _mm256_srli_epi32(a, N);
  }
  static Int add_where(Mask where, Int a, std::uint32_t b) {
    return _mm256_add_epi32(a, _mm256_and_si256(_mm256_castps_si256(where), all_ints(b)));
  }
  static Int xor_where(Mask where, Int a, std::uint32_t b) {
    return _mm256_xor_si256(a, _mm256_and_si256(_mm256_castps_si256(where), all_ints(b)));
  }
  static Int bits_of(Reg a) { return _mm256_castps_si256(a); }
  static Int truncated(Reg a) { return _mm256_cvttps_epi32(a); }
  static Reg floats(Int a) { return _mm256_cvtepi32_ps(a); }
  // Integers below 2^24, over 2^24.
  static Reg fractions(Int a) { return mul(floats(a), all(0x1p-24f)); }
  // The floor, or where that is below 0 or above top, these.
  static Int floor_within(Reg a, float top) { return truncated(min(max(floor(a), all(0.0f)), all(top))); }
  static Reg gather(const float* from, Int at) { return _mm256_i32gather_ps(from, at, 4); }
  static Int gather(const std::int32_t* from, Int at) { return _mm256_i32gather_epi32(from, at, 4); }

  // The two low bytes of every lane, and the lowest one; the others are 0.
  static void store_pairs(std::uint8_t* out, Int a) { _mm_storeu_si128(reinterpret_cast<__m128i*>(out), halves(a)); }
  static void store_bytes(std::uint8_t* out, Int a) {
    const __m128i pairs = halves(a);
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_packus_epi16(pairs, pairs));
  }

  // a and b in turn.
  static void interleave(Reg a, Reg b, Reg& first, Reg& second) {
    const Reg low = _mm256_unpacklo_ps(a, b), high = _mm256_unpackhi_ps(a, b);
    first = _mm256_permute2f128_ps(low, high, 0x20);
    second = _mm256_permute2f128_ps(low, high, 0x31);
  }

 private:
  static __m128i halves(Int a) { return _mm_packus_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1)); }
};

}  // namespace
}  // namespace lowtide::avx2
