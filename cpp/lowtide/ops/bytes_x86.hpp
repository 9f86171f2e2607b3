// Sixteen bytes in a register: what ops on bytes of levels, written once over such a type, need of x86. Only avx2.cpp and
// avx512.cpp of an op include it; in an unnamed namespace, so that every instance is that file's own.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

namespace lowtide {
namespace {

struct Bytes {
  using Reg = __m128i;
  static constexpr std::size_t bytes = 16;
  static Reg zip_low(Reg a, Reg b) { return _mm_unpacklo_epi8(a, b); }
  static Reg zip_high(Reg a, Reg b) { return _mm_unpackhi_epi8(a, b); }
  static Reg load(const std::uint8_t* p, bool whole) {
    return whole ? _mm_loadu_si128(reinterpret_cast<const Reg*>(p)) : _mm_loadl_epi64(reinterpret_cast<const Reg*>(p));
  }
  static Reg load_rows(const std::uint8_t* const (&row)[16], int i, std::size_t b, bool whole) {
    return load(row[i] + b, whole);
  }
};

}  // namespace
}  // namespace lowtide
