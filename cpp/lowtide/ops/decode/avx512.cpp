// vpermt2ps looks sixteen values up in a codebook of up to 32 entries held in two registers, which is every codebook
// of up to 4 bits, pairs included; 8-bit levels use vgatherdps, and 4-bit levels are not unpacked before.
// Binds: for narrow levels the stores, for 8-bit levels the gather. The tail of a row is written under a mask.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false alarms of GCC 12 inside its own header
#include <immintrin.h>

#include "lowtide/ops/decode/decode.hpp"
#include "lowtide/ops/pack/pack.hpp"

namespace lowtide::avx512 {
namespace {

constexpr std::size_t kGroup = 64;  // levels unpacked at once: a whole number of words at every width

inline void store16(float* out, __mmask16 mask, __m512 v) { _mm512_mask_storeu_ps(out, mask, v); }

inline void store16(double* out, __mmask16 mask, __m512 v) {
  const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
  _mm512_mask_storeu_pd(out, static_cast<__mmask8>(mask), _mm512_cvtps_pd(_mm512_castps512_ps256(v)));
  _mm512_mask_storeu_pd(out + 8, static_cast<__mmask8>(mask >> 8), high);
}

// Positions in the flattened codebook of the next sixteen values.
inline __m512i positions(const std::uint8_t* levels, std::size_t width) {
  if (width == 1) return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(levels)));
  const __m128i once = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(levels));
  const __m512i twice = _mm512_cvtepu8_epi32(_mm_unpacklo_epi8(once, once));
  const __m512i parity = _mm512_setr_epi32(0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1);
  return _mm512_add_epi32(_mm512_add_epi32(twice, twice), parity);
}

// Whole words of 4-bit levels, 16 values each: every lane shifts its nibble down, and vpermps looks at four bits only.
// Returns the levels done.
template <typename T>
std::size_t decode_nibbles(const std::uint64_t* row, std::size_t n_levels, const float* book, T* out) {
  const __m512i halves = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1);
  const __m512i shifts = _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
  const __m512 values = _mm512_loadu_ps(book);
  std::size_t j = 0;
  for (; j + 16 <= n_levels; j += 16) {
    const __m512i word = _mm512_castsi128_si512(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(row + j / 16)));
    const __m512i index = _mm512_srlv_epi32(_mm512_permutexvar_epi32(halves, word), shifts);
    store16(out + j, 0xFFFF, _mm512_permutexvar_ps(index, values));
  }
  return j;
}

// The same for pairs, 8 levels to 16 values: the nibble is rotated to stand above the bit that says which of the two.
template <typename T>
std::size_t decode_nibble_pairs(const std::uint64_t* row, std::size_t n_levels, __m512 low, __m512 high, T* out) {
  const __m512i turns = _mm512_setr_epi32(1, 1, 29, 29, 25, 25, 21, 21, 17, 17, 13, 13, 9, 9, 5, 5);
  const __m512i parity = _mm512_setr_epi32(0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1);
  const auto* bytes = reinterpret_cast<const unsigned char*>(row);
  std::size_t j = 0;
  for (; j + 8 <= n_levels; j += 8) {
    int half;
    __builtin_memcpy(&half, bytes + j / 2, 4);
    const __m512i spread = _mm512_rolv_epi32(_mm512_set1_epi32(half), turns);
    const __m512i index = _mm512_or_si512(_mm512_andnot_si512(_mm512_set1_epi32(1), spread), parity);
    store16(out + 2 * j, 0xFFFF, _mm512_permutex2var_ps(low, index, high));
  }
  return j;
}

template <typename T>
void decode_as(const std::uint64_t* row, std::size_t n_levels, unsigned bits, const float* book, std::size_t width,
               T* out) {
  float flat[32] = {};
  const bool small = bits <= 4;
  if (small)
    for (std::size_t v = 0; v < (width << bits); ++v) flat[v] = book[v];
  const __m512 low = _mm512_loadu_ps(flat), high = _mm512_loadu_ps(flat + 16);
  std::uint8_t levels[kGroup + 16] = {};
  const std::size_t whole = bits == 4 ? n_levels / kGroup * kGroup : 0;
  const std::size_t done =
      width == 1 ? decode_nibbles(row, whole, flat, out) : decode_nibble_pairs(row, whole, low, high, out);
  for (std::size_t j = done; j < n_levels; j += kGroup) {
    const std::size_t n = n_levels - j < kGroup ? n_levels - j : kGroup, n_values = n * width;
    avx2::unpack(row + j / 64 * bits, n, bits, levels);
    for (std::size_t v = 0; v < n_values; v += 16) {
      const std::size_t left = n_values - v;
      const __mmask16 mask = left >= 16 ? 0xFFFF : static_cast<__mmask16>((1u << left) - 1);
      const __m512i index = positions(levels + v / width, width);
      const __m512 value = small ? _mm512_permutex2var_ps(low, index, high)
                                 : _mm512_mask_i32gather_ps(_mm512_setzero_ps(), mask, index, book, 4);
      store16(out + j * width + v, mask, value);
    }
  }
}

}  // namespace

void decode(const std::uint64_t* row, std::size_t n_levels, unsigned bits, const float* book, std::size_t width,
            float* out) {
  decode_as(row, n_levels, bits, book, width, out);
}

void decode(const std::uint64_t* row, std::size_t n_levels, unsigned bits, const float* book, std::size_t width,
            double* out) {
  decode_as(row, n_levels, bits, book, width, out);
}

}  // namespace lowtide::avx512
