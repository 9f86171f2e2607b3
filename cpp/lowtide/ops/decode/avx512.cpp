// vpermt2ps looks sixteen values up in a codebook of up to 32 entries held in two registers, which is every codebook
// of up to 4 bits, pairs included; 8-bit levels use vgatherdps, and 1- and 4-bit levels are not unpacked before.
// Binds: for narrow levels the stores, for 8-bit levels the gather. The tail of a row is written under a mask.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false alarms of GCC 12 inside its own header
#include <immintrin.h>

#include "lowtide/ops/decode/groups.hpp"

namespace lowtide::avx512 {
namespace {

// Ones for the first n lanes of sixteen.
inline __mmask16 first_lanes(std::size_t n) {
  return n >= 16 ? __mmask16{0xFFFF} : static_cast<__mmask16>((1u << n) - 1);
}

struct V {
  using Reg = __m512;
  using Index = __m512i;
  static constexpr std::size_t width = 16, held = 32, group = 64;
  struct Held {
    __m512 low, high;
  };

  static void unpack(const std::uint64_t* row, std::size_t n, unsigned bits, std::uint8_t* levels) {
    avx2::unpack(row, n, bits, levels);
  }
  static Held hold(const float* flat) { return {_mm512_loadu_ps(flat), _mm512_loadu_ps(flat + 16)}; }

  static Index parity() { return _mm512_setr_epi32(0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1); }
  static Index positions(const std::uint8_t* levels, std::size_t per_level) {
    if (per_level == 1) return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(levels)));
    const __m128i once = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(levels));
    const __m512i twice = _mm512_cvtepu8_epi32(_mm_unpacklo_epi8(once, once));
    return _mm512_add_epi32(_mm512_add_epi32(twice, twice), parity());
  }

  static Reg look_up(const Held& book, Index index) { return _mm512_permutex2var_ps(book.low, index, book.high); }
  static Reg look_up(const Held& book, const std::uint8_t* levels, std::size_t per_level) {
    return look_up(book, positions(levels, per_level));
  }
  // Lanes past n are not read from memory.
  static Reg gather(const float* book, const std::uint8_t* levels, std::size_t per_level, std::size_t n) {
    const Index index = positions(levels, per_level);
    return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), first_lanes(n), index, book, 4);
  }

  static void store(float* out, Reg v, std::size_t n) { _mm512_mask_storeu_ps(out, first_lanes(n), v); }
  static void store(double* out, Reg v, std::size_t n) {
    const __mmask16 mask = first_lanes(n);
    const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
    _mm512_mask_storeu_pd(out, static_cast<__mmask8>(mask), _mm512_cvtps_pd(_mm512_castps512_ps256(v)));
    _mm512_mask_storeu_pd(out + 8, static_cast<__mmask8>(mask >> 8), high);
  }

  template <typename T>
  static std::size_t whole(const std::uint64_t* row, std::size_t n_levels, unsigned bits, const Held& book,
                           std::size_t per_level, T* out) {
    if (bits == 1 && per_level == 1) return one_bit(row, n_levels, book, out);
    if (bits != 4) return 0;
    return per_level == 1 ? nibbles(row, n_levels, book, out) : nibble_pairs(row, n_levels, book, out);
  }

  // Sixteen bits are a mask that chooses.
  template <typename T>
  static std::size_t one_bit(const std::uint64_t* row, std::size_t n_levels, const Held& book, T* out) {
    const __m512 zero = _mm512_permutexvar_ps(_mm512_setzero_si512(), book.low);
    const __m512 one = _mm512_permutexvar_ps(_mm512_set1_epi32(1), book.low);
    const auto* bytes = reinterpret_cast<const unsigned char*>(row);
    for (std::size_t j = 0; j < n_levels; j += 16) {
      std::uint16_t bits;
      __builtin_memcpy(&bits, bytes + j / 8, 2);
      store(out + j, _mm512_mask_blend_ps(bits, zero, one), 16);
    }
    return n_levels;
  }

  // Whole words of 4-bit levels, 16 values each: every lane shifts its nibble down, and vpermps looks at four bits only.
  template <typename T>
  static std::size_t nibbles(const std::uint64_t* row, std::size_t n_levels, const Held& book, T* out) {
    const __m512i halves = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
    const __m512i shifts = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
    for (std::size_t j = 0; j < n_levels; j += 16) {
      const __m512i word = _mm512_castsi128_si512(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + j / 16)));
      const __m512i index = _mm512_srlv_epi32(_mm512_permutexvar_epi32(halves, word), shifts);
      store(out + j, _mm512_permutexvar_ps(index, book.low), 16);
    }
    return n_levels;
  }

  // The same for pairs, 8 levels to 16 values: the nibble is rotated to stand above the bit that says which of the two.
  template <typename T>
  static std::size_t nibble_pairs(const std::uint64_t* row, std::size_t n_levels, const Held& book, T* out) {
    const __m512i turns = _mm512_setr_epi32(1, 1, 29, 29, 25, 25, 21, 21, 17, 17, 13, 13, 9, 9, 5, 5);
    const auto* bytes = reinterpret_cast<const unsigned char*>(row);
    for (std::size_t j = 0; j < n_levels; j += 8) {
      int half;
      __builtin_memcpy(&half, bytes + j / 2, 4);
      const __m512i spread = _mm512_rolv_epi32(_mm512_set1_epi32(half), turns);
      const __m512i index = _mm512_or_si512(_mm512_andnot_si512(_mm512_set1_epi32(1), spread), parity());
      store(out + 2 * j, look_up(book, index), 16);
    }
    return n_levels;
  }
};

}  // namespace

const DecodeOp decode = {decode_groups::decode<V, float>, decode_groups::decode<V, double>};

}  // namespace lowtide::avx512
