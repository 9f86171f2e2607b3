// Three rounds of vpmulld mixing a component bind (six 32-bit multiplications, two uops each). Tail: the last few
// frequencies through a padded copy.
#include <immintrin.h>

#include "lowtide/ops/features/cosine.hpp"
#include "lowtide/ops/stochastic/stochastic.hpp"

namespace lowtide::avx512 {
namespace {

constexpr std::size_t lanes = 16;

struct Tail {
  alignas(64) float v[lanes] = {}, scale[lanes] = {}, offset[lanes] = {};
  Tail(const float* from_v, const float* from_scale, const float* from_offset, std::size_t n) {
    for (std::size_t j = 0; j < n; ++j) v[j] = from_v[j], scale[j] = from_scale[j], offset[j] = from_offset[j];
  }
};

inline __m512i constant(std::uint32_t a) { return _mm512_set1_epi32(static_cast<int>(a)); }

inline __m512i mix(__m512i h) {
  h = _mm512_xor_si512(h, _mm512_srli_epi32(h, 16));
  h = _mm512_mullo_epi32(h, constant(0x85ebca6bu));
  h = _mm512_xor_si512(h, _mm512_srli_epi32(h, 13));
  h = _mm512_mullo_epi32(h, constant(0xc2b2ae35u));
  return _mm512_xor_si512(h, _mm512_srli_epi32(h, 16));
}

inline __m512 random_fraction(std::uint64_t seed, __m512i component, __m512 f) {
  const __m512i low = constant(static_cast<std::uint32_t>(seed)),
                high = constant(static_cast<std::uint32_t>(seed >> 32));
  const __m512i key = mix(_mm512_add_epi32(mix(_mm512_xor_si512(component, low)), high));
  const __m512i hash = mix(_mm512_xor_si512(key, _mm512_castps_si512(f)));
  return _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_srli_epi32(hash, 8)), _mm512_set1_ps(0x1p-24f));
}

inline __m512 floor(__m512 a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }

inline __m512 next(__m512 p, __m512 z, float c) { return _mm512_add_ps(_mm512_mul_ps(p, z), _mm512_set1_ps(c)); }

inline __m512 cosine_of_fraction(__m512 f) {
  const __m512 r = _mm512_sub_ps(f, _mm512_roundscale_ps(f, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  const __m512 y = _mm512_sub_ps(_mm512_set1_ps(0.25f), _mm512_abs_ps(r));
  const __m512 z = _mm512_mul_ps(y, y);
  __m512 p = next(_mm512_set1_ps(cosine::c4), z, cosine::c3);
  p = next(next(next(p, z, cosine::c2), z, cosine::c1), z, cosine::c0);
  return _mm512_mul_ps(p, y);
}

inline __m512i level(__m512 u, __m512i component, const StochasticRule& rule) {
  const float top = static_cast<float>((1u << rule.bits) - 1);
  const __m512 whole = _mm512_sub_ps(u, floor(u));
  const __m512 f = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(whole, _mm512_set1_ps(1.0f), _CMP_LT_OQ), whole);
  const __m512 above = _mm512_add_ps(cosine_of_fraction(f), _mm512_set1_ps(1.0f));
  const __m512 place =
      _mm512_add_ps(_mm512_mul_ps(above, _mm512_set1_ps(0.5f * top)), random_fraction(rule.seed, component, f));
  const __m512 clipped = _mm512_min_ps(_mm512_max_ps(floor(place), _mm512_setzero_ps()), _mm512_set1_ps(top));
  return _mm512_cvttps_epi32(clipped);
}

inline void group(const float* v, const float* scale, const float* offset, const StochasticRule& rule,
                  std::uint32_t first, std::uint8_t* out) {
  const __m512 t = _mm512_add_ps(_mm512_mul_ps(_mm512_loadu_ps(v), _mm512_loadu_ps(scale)), _mm512_loadu_ps(offset));
  const __m512i step =
      _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), constant(rule.width));
  const __m512i component = _mm512_add_epi32(constant(first), step);
  __m512i wide = level(_mm512_add_ps(t, _mm512_set1_ps(rule.shifts[0])), component, rule);
  if (rule.width == 2) {
    const __m512i second = _mm512_add_epi32(component, constant(1));
    const __m512i other = level(_mm512_add_ps(t, _mm512_set1_ps(rule.shifts[1])), second, rule);
    wide = _mm512_or_si512(wide, _mm512_slli_epi32(other, 8));
  }
  if (rule.width == 2) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_cvtepi32_epi16(wide));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_cvtepi32_epi8(wide));
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

}  // namespace lowtide::avx512
