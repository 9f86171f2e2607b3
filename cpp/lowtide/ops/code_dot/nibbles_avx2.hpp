// The register type of look-ups of nibbles at AVX2, for the files of that level only.
#pragma once

#include <immintrin.h>

#include "lowtide/ops/code_dot/nibbles.hpp"

namespace lowtide::avx2 {
namespace {

struct NibbleRegister {
  using Reg = __m256i;
  static constexpr std::size_t bytes = 32;
  static Reg zero() { return _mm256_setzero_si256(); }
  static Reg load(const std::uint8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const Reg*>(p)); }
  static void store(std::uint8_t* p, Reg a) { _mm256_storeu_si256(reinterpret_cast<Reg*>(p), a); }
  static void keep(Reg& a) { asm("" : "+x"(a)); }
  static Reg add_bytes(Reg a, Reg b) { return _mm256_add_epi8(a, b); }
  static Reg table(const std::uint8_t (&entry)[16]) {
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(entry)));
  }
  static Reg look_up(Reg table, Reg nibbles) { return _mm256_shuffle_epi8(table, nibbles); }
  static Reg low_nibbles(Reg a) { return _mm256_and_si256(a, _mm256_set1_epi8(15)); }
  static Reg high_nibbles(Reg a) { return low_nibbles(_mm256_srli_epi16(a, 4)); }
  static Reg zip_low(Reg a, Reg b) { return _mm256_unpacklo_epi8(a, b); }
  static Reg zip_high(Reg a, Reg b) { return _mm256_unpackhi_epi8(a, b); }

  static __m128i load_part(const std::uint8_t* from, bool whole) {
    return whole ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(from))
                 : _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  }
  static Reg load_rows(const std::uint8_t* const (&row)[32], int i, std::size_t b, bool whole) {
    return _mm256_set_m128i(load_part(row[i + 16] + b, whole), load_part(row[i] + b, whole));
  }

  static void add_widened(std::uint16_t* sums, Reg a) {
    auto* to = reinterpret_cast<Reg*>(sums);
    const Reg low = _mm256_cvtepu8_epi16(_mm256_castsi256_si128(a));
    const Reg high = _mm256_cvtepu8_epi16(_mm256_extracti128_si256(a, 1));
    _mm256_storeu_si256(to, _mm256_add_epi16(_mm256_loadu_si256(to), low));
    _mm256_storeu_si256(to + 1, _mm256_add_epi16(_mm256_loadu_si256(to + 1), high));
  }
};

using NibbleTiles = nibbles::Nibbles<NibbleRegister>;

}  // namespace
}  // namespace lowtide::avx2
