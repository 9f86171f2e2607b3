// Three rounds of vpmulld mixing a component bind (six 32-bit multiplications, two uops each). Tail: the last few
// frequencies through a padded copy.
#include <immintrin.h>

#include "lowtide/ops/features/cosine.hpp"
#include "lowtide/ops/stochastic/stochastic.hpp"

namespace lowtide::avx2 {
namespace {

constexpr std::size_t lanes = 8;

struct Tail {
  alignas(32) float v[lanes] = {}, scale[lanes] = {}, offset[lanes] = {};
  Tail(const float* from_v, const float* from_scale, const float* from_offset, std::size_t n) {
    for (std::size_t j = 0; j < n; ++j) v[j] = from_v[j], scale[j] = from_scale[j], offset[j] = from_offset[j];
  }
};

inline __m256i constant(std::uint32_t a) { return _mm256_set1_epi32(static_cast<int>(a)); }

inline __m256i mix(__m256i h) {
  h = _mm256_xor_si256(h, _mm256_srli_epi32(h, 16));
  h = _mm256_mullo_epi32(h, constant(0x85ebca6bu));
  h = _mm256_xor_si256(h, _mm256_srli_epi32(h, 13));
  h = _mm256_mullo_epi32(h, constant(0xc2b2ae35u));
  return _mm256_xor_si256(h, _mm256_srli_epi32(h, 16));
}

inline __m256 random_fraction(std::uint64_t seed, __m256i component, __m256 f) {
  const __m256i low = constant(static_cast<std::uint32_t>(seed)),
                high = constant(static_cast<std::uint32_t>(seed >> 32));
  const __m256i key = mix(_mm256_add_epi32(mix(_mm256_xor_si256(component, low)), high));
  const __m256i hash = mix(_mm256_xor_si256(key, _mm256_castps_si256(f)));
  return _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_srli_epi32(hash, 8)), _mm256_set1_ps(0x1p-24f));
}

inline __m256 next(__m256 p, __m256 z, float c) { return _mm256_add_ps(_mm256_mul_ps(p, z), _mm256_set1_ps(c)); }

inline __m256 cosine_of_fraction(__m256 f) {
  const __m256 r = _mm256_sub_ps(f, _mm256_round_ps(f, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  const __m256 y = _mm256_sub_ps(_mm256_set1_ps(0.25f), _mm256_andnot_ps(_mm256_set1_ps(-0.0f), r));
  const __m256 z = _mm256_mul_ps(y, y);
  __m256 p = next(_mm256_set1_ps(cosine::c4), z, cosine::c3);
  p = next(next(next(p, z, cosine::c2), z, cosine::c1), z, cosine::c0);
  return _mm256_mul_ps(p, y);
}

inline __m256i level(__m256 u, __m256i component, const StochasticRule& rule) {
  const float top = static_cast<float>((1u << rule.bits) - 1);
  const __m256 whole = _mm256_sub_ps(u, _mm256_floor_ps(u));
  const __m256 f = _mm256_and_ps(whole, _mm256_cmp_ps(whole, _mm256_set1_ps(1.0f), _CMP_LT_OQ));
  const __m256 above = _mm256_add_ps(cosine_of_fraction(f), _mm256_set1_ps(1.0f));
  const __m256 place =
      _mm256_add_ps(_mm256_mul_ps(above, _mm256_set1_ps(0.5f * top)), random_fraction(rule.seed, component, f));
  const __m256 clipped = _mm256_min_ps(_mm256_max_ps(_mm256_floor_ps(place), _mm256_setzero_ps()), _mm256_set1_ps(top));
  return _mm256_cvttps_epi32(clipped);
}

inline void group(const float* v, const float* scale, const float* offset, const StochasticRule& rule,
                  std::uint32_t first, std::uint8_t* out) {
  const __m256 t = _mm256_add_ps(_mm256_mul_ps(_mm256_loadu_ps(v), _mm256_loadu_ps(scale)), _mm256_loadu_ps(offset));
  const __m256i step = _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), constant(rule.width));
  const __m256i component = _mm256_add_epi32(constant(first), step);
  __m256i wide = level(_mm256_add_ps(t, _mm256_set1_ps(rule.shifts[0])), component, rule);
  if (rule.width == 2) {
    const __m256i second = _mm256_add_epi32(component, constant(1));
    const __m256i other = level(_mm256_add_ps(t, _mm256_set1_ps(rule.shifts[1])), second, rule);
    wide = _mm256_or_si256(wide, _mm256_slli_epi32(other, 8));
  }
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(wide, _mm256_setzero_si256()), 0x08);
  const __m128i pairs = _mm256_castsi256_si128(packed);
  if (rule.width == 2) return _mm_storeu_si128(reinterpret_cast<__m128i*>(out), pairs);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_packus_epi16(pairs, pairs));
}

}  // namespace

void encode_stochastic(const float* v, std::size_t n, const float* scale, const float* offset,
                       const StochasticRule& rule, std::uint32_t first, std::uint8_t* levels) {
  if (rule.width > 2) return scalar::encode_stochastic(v, n, scale, offset, rule, first, levels);
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes) {
    const std::size_t component = j * rule.width;
    group(v + j, scale + j, offset + j, rule, first + static_cast<std::uint32_t>(component), levels + component);
  }
  if (j == n) return;
  const Tail tail(v + j, scale + j, offset + j, n - j);
  std::uint8_t last[2 * lanes];
  group(tail.v, tail.scale, tail.offset, rule, first + static_cast<std::uint32_t>(j * rule.width), last);
  for (std::size_t i = 0; i < (n - j) * rule.width; ++i) levels[j * rule.width + i] = last[i];
}

}  // namespace lowtide::avx2
