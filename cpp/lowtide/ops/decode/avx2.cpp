// pdep spreads eight levels to bytes, vgatherdps reads the codebook (at most 2 kB, always in L1). Binds: the gather,
// about one value a cycle. The last levels of a row are done one by one.
#include <immintrin.h>

#include "lowtide/ops/decode/decode.hpp"
#include "lowtide/ops/pack/pack.hpp"

namespace lowtide::avx2 {
namespace {

constexpr std::size_t kGroup = 64;  // levels unpacked at once: a whole number of words at every width

inline void store8(float* out, __m256 v) { _mm256_storeu_ps(out, v); }

inline void store8(double* out, __m256 v) {
  _mm256_storeu_pd(out, _mm256_cvtps_pd(_mm256_castps256_ps128(v)));
  _mm256_storeu_pd(out + 4, _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)));
}

template <typename T>
void decode_group(const std::uint8_t* levels, std::size_t n, const float* book, std::size_t width, T* out) {
  const std::size_t per = 8 / width;
  std::size_t j = 0;
  for (; j + per <= n; j += per) {
    __m256i index;
    if (width == 1) {
      index = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(levels + j)));
    } else {
      int four;
      __builtin_memcpy(&four, levels + j, 4);
      const __m128i once = _mm_cvtsi32_si128(four);
      index = _mm256_cvtepu8_epi32(_mm_unpacklo_epi8(once, once));
      index = _mm256_add_epi32(_mm256_add_epi32(index, index), _mm256_setr_epi32(0, 1, 0, 1, 0, 1, 0, 1));
    }
    store8(out + j * width, _mm256_i32gather_ps(book, index, 4));
  }
  for (; j < n; ++j)
    for (std::size_t p = 0; p < width; ++p) out[j * width + p] = book[levels[j] * width + p];
}

template <typename T>
void decode_as(const std::uint64_t* row, std::size_t n_levels, unsigned bits, const float* book, std::size_t width,
               T* out) {
  std::uint8_t levels[kGroup];
  for (std::size_t j = 0; j < n_levels; j += kGroup) {
    const std::size_t n = n_levels - j < kGroup ? n_levels - j : kGroup;
    unpack(row + j / 64 * bits, n, bits, levels);
    decode_group(levels, n, book, width, out + j * width);
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

}  // namespace lowtide::avx2
