// The register type of look-ups of nibbles at AVX-512 without vpopcntq, for the files of that level only. What makes the
// panels is that of AVX2: they are the same.
#pragma once

#include <immintrin.h>

#include "lowtide/ops/code_dot/nibbles.hpp"

namespace lowtide::avx512 {
namespace {

struct NibbleRegister {
  using Reg = __m512i;
  static constexpr std::size_t bytes = 64;
  static Reg zero() { return _mm512_setzero_si512(); }
  static Reg load(const std::uint8_t* p) { return _mm512_loadu_si512(p); }
  static void keep(Reg& a) { asm("" : "+v"(a)); }
  static Reg add_bytes(Reg a, Reg b) { return _mm512_add_epi8(a, b); }
  static Reg table(const std::uint8_t (&entry)[16]) {
    return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(entry)));
  }
  static Reg look_up(Reg table, Reg nibbles) { return _mm512_shuffle_epi8(table, nibbles); }
  static void add_half(std::uint16_t* sums, __m256i more) {
    _mm512_storeu_si512(sums, _mm512_add_epi16(_mm512_loadu_si512(sums), _mm512_cvtepu8_epi16(more)));
  }
  static void add_widened(std::uint16_t* sums, Reg a) {
    add_half(sums, _mm512_castsi512_si256(a));
    add_half(sums + 32, _mm512_extracti64x4_epi64(a, 1));
  }
};

using NibbleTiles = nibbles::Nibbles<NibbleRegister>;

}  // namespace
}  // namespace lowtide::avx512
