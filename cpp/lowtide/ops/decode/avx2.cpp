// Codebooks of up to 16 entries are two registers, looked up by two vpermps and a vblendvps; larger ones, at most 2 kB
// and always in L1, by vgatherdps. One-bit levels are not unpacked: a byte's bits are moved to the signs of eight lanes,
// which choose. Binds: for one bit the stores, else the unpacking, or the gather. The tail of a row is written under a
// mask.
#include <immintrin.h>

#include "lowtide/ops/decode/groups.hpp"

namespace lowtide::avx2 {
namespace {

alignas(32) constexpr std::int32_t kMask[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

// All bits in the first n lanes of eight.
inline __m256i first_lanes(std::size_t n) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMask + 8 - (n < 8 ? n : 8)));
}

struct V {
  using Reg = __m256;
  using Index = __m256i;
  static constexpr std::size_t width = 8, held = 16, group = 64;
  struct Held {
    __m256 low, high;
  };

  static void unpack(const std::uint64_t* row, std::size_t n, unsigned bits, std::uint8_t* levels) {
    avx2::unpack(row, n, bits, levels);
  }
  static Held hold(const float* flat) { return {_mm256_loadu_ps(flat), _mm256_loadu_ps(flat + 8)}; }

  static Index positions(const std::uint8_t* levels, std::size_t per_level) {
    if (per_level == 1) return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(levels)));
    int four;
    __builtin_memcpy(&four, levels, 4);
    const __m128i once = _mm_cvtsi32_si128(four);
    const __m256i twice = _mm256_cvtepu8_epi32(_mm_unpacklo_epi8(once, once));
    return _mm256_add_epi32(_mm256_add_epi32(twice, twice), _mm256_setr_epi32(0, 1, 0, 1, 0, 1, 0, 1));
  }

  // vpermps looks at three bits; the fourth, moved to the sign, says which half counts.
  static Reg look_up(const Held& book, Index index) {
    const __m256 half = _mm256_castsi256_ps(_mm256_slli_epi32(index, 28));
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(book.low, index), _mm256_permutevar8x32_ps(book.high, index),
                            half);
  }
  static Reg look_up(const Held& book, const std::uint8_t* levels, std::size_t per_level) {
    return look_up(book, positions(levels, per_level));
  }
  // Lanes past n are not read from memory.
  static Reg gather(const float* book, const std::uint8_t* levels, std::size_t per_level, std::size_t n) {
    const Index index = positions(levels, per_level);
    return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), book, index, _mm256_castsi256_ps(first_lanes(n)), 4);
  }

  static void store(float* out, Reg v, std::size_t n) {
    if (n >= 8) return _mm256_storeu_ps(out, v);
    _mm256_maskstore_ps(out, first_lanes(n), v);
  }
  static void store(double* out, Reg v, std::size_t n) {
    const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(v)), high = _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
    if (n >= 8) {
      _mm256_storeu_pd(out, low);
      return _mm256_storeu_pd(out + 4, high);
    }
    const __m256i mask = first_lanes(n);
    _mm256_maskstore_pd(out, _mm256_cvtepi32_epi64(_mm256_castsi256_si128(mask)), low);
    _mm256_maskstore_pd(out + 4, _mm256_cvtepi32_epi64(_mm256_extracti128_si256(mask, 1)), high);
  }

  template <typename T>
  static std::size_t whole(const std::uint64_t* row, std::size_t n_levels, unsigned bits, const Held& book,
                           std::size_t per_level, T* out) {
    if (bits != 1 || per_level != 1) return 0;
    const __m256 zero = _mm256_broadcastss_ps(_mm256_castps256_ps128(book.low));
    const __m256 one = _mm256_broadcastss_ps(_mm_movehdup_ps(_mm256_castps256_ps128(book.low)));
    const __m256i to_sign = _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24);
    const auto* bytes = reinterpret_cast<const unsigned char*>(row);
    for (std::size_t j = 0; j < n_levels; j += 8) {
      const __m256i signs = _mm256_sllv_epi32(_mm256_set1_epi32(bytes[j / 8]), to_sign);
      store(out + j, _mm256_blendv_ps(zero, one, _mm256_castsi256_ps(signs)), 8);
    }
    return n_levels;
  }
};

}  // namespace

const DecodeOp decode = {decode_groups::decode<V, float>, decode_groups::decode<V, double>};

}  // namespace lowtide::avx2
