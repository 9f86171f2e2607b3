// Up to 15 positive borders, so 5-bit levels, sit in one register, from which vpermps picks; the first halving is a
// compare with a broadcast, and the sign flips all bits of the level under a mask. Among more, a gather says how many
// lie in lower cells and another looks at the next. Bound by the vector ports, some 13 instructions for 16 levels of 4
// bits. Tail: the last few projections through a padded copy.
#include <immintrin.h>

#include "lowtide/ops/threshold/threshold.hpp"

namespace lowtide::avx512 {
namespace {

constexpr std::size_t lanes = 16;

struct Tail {
  alignas(64) float v[64] = {}, scale[64] = {};
  Tail(const float* from_v, const float* from_scale, std::size_t n) {
    for (std::size_t j = 0; j < n; ++j) v[j] = from_v[j], scale[j] = from_scale[j];
  }
};

inline __m512 normalized(const float* v, const float* scale, __m512 factor) {
  return _mm512_mul_ps(_mm512_mul_ps(_mm512_loadu_ps(v), factor), _mm512_loadu_ps(scale));
}

inline __m512i step(__m512i c, __m512 border, __m512 magnitude, int size) {
  return _mm512_mask_add_epi32(c, _mm512_cmp_ps_mask(border, magnitude, _CMP_LE_OQ), c, _mm512_set1_epi32(size));
}

constexpr int by_cells = -1;

inline __m512i count_by_cells(__m512 magnitude, const LineRule& rule) {
  const __m512 last = _mm512_set1_ps(static_cast<float>(rule.n_cells - 1));
  const __m512 cell = _mm512_mul_ps(magnitude, _mm512_set1_ps(rule.cells));
  // What is not a number counts as 0.
  const __m512 valid = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(cell, cell, _CMP_ORD_Q), cell);
  __m512i c = _mm512_i32gather_epi32(_mm512_cvttps_epi32(_mm512_min_ps(valid, last)), rule.start, 4);
  for (unsigned i = 0; i < rule.most; ++i) c = step(c, _mm512_i32gather_ps(c, rule.borders, 4), magnitude, 1);
  return c;
}

template <int Steps>
inline __m512i count(__m512 magnitude, const LineRule& rule) {
  if (Steps == by_cells) return count_by_cells(magnitude, rule);
  __m512i c = _mm512_setzero_si512();
  constexpr int first = Steps > 0 ? 1 << Steps >> 1 : 0;
  if (first > 0) c = step(c, _mm512_set1_ps(rule.borders[first - 1]), magnitude, first);
#pragma GCC unroll 3
  for (int size = first >> 1; size > 0; size >>= 1) {
    const __m512i at = _mm512_add_epi32(c, _mm512_set1_epi32(size - 1));
    c = step(c, _mm512_permutexvar_ps(at, _mm512_load_ps(rule.borders)), magnitude, size);
  }
  return c;
}

template <int Steps>
inline void group(const float* v, const float* scale, __m512 factor, const LineRule& rule, std::uint8_t* out) {
  const __m512 u = normalized(v, scale, factor);
  const __m512i half = _mm512_set1_epi32(static_cast<int>(rule.n_borders) + 1);
  const __m512i above = _mm512_add_epi32(count<Steps>(_mm512_abs_ps(u), rule), half);
  const __mmask16 negative = _mm512_cmp_ps_mask(u, _mm512_setzero_ps(), _CMP_LT_OQ);
  // 2 half - 1 is all ones in the bits of a level: half + c flipped is half - 1 - c.
  const __m512i ones = _mm512_set1_epi32(2 * static_cast<int>(rule.n_borders) + 1);
  const __m512i level = _mm512_mask_xor_epi32(above, negative, above, ones);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_cvtepi32_epi8(level));
}

template <int Steps>
void groups(const float* v, std::size_t n, const float* scale, float factor, const LineRule& rule,
            std::uint8_t* levels) {
  const __m512 wide = _mm512_set1_ps(factor);
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes) group<Steps>(v + j, scale + j, wide, rule, levels + j);
  if (j == n) return;
  const Tail tail(v + j, scale + j, n - j);
  std::uint8_t last[lanes];
  group<Steps>(tail.v, tail.scale, wide, rule, last);
  for (std::size_t i = j; i < n; ++i) levels[i] = last[i - j];
}

inline std::uint64_t word(const float* v, const float* scale, __m512 factor) {
  std::uint64_t negative = 0;
  for (unsigned g = 0; g < 4; ++g) {
    const __m512 u = normalized(v + g * lanes, scale + g * lanes, factor);
    negative |= std::uint64_t{_mm512_cmp_ps_mask(u, _mm512_setzero_ps(), _CMP_LT_OQ)} << (g * lanes);
  }
  return ~negative;
}

}  // namespace

void threshold_levels(const float* v, std::size_t n, const float* scale, float factor, const LineRule& rule,
                      std::uint8_t* levels) {
  switch (rule.n_steps) {
    case 0: return groups<0>(v, n, scale, factor, rule, levels);
    case 1: return groups<1>(v, n, scale, factor, rule, levels);
    case 2: return groups<2>(v, n, scale, factor, rule, levels);
    case 3: return groups<3>(v, n, scale, factor, rule, levels);
    case 4: return groups<4>(v, n, scale, factor, rule, levels);
    default: return groups<by_cells>(v, n, scale, factor, rule, levels);
  }
}

void threshold_bits(const float* v, std::size_t n, const float* scale, float factor, std::uint64_t* row) {
  const __m512 wide = _mm512_set1_ps(factor);
  std::size_t j = 0;
  for (; j + 64 <= n; j += 64) *row++ = word(v + j, scale + j, wide);
  if (j == n) return;
  const Tail tail(v + j, scale + j, n - j);
  *row = _bzhi_u64(word(tail.v, tail.scale, wide), static_cast<unsigned>(n - j));
}

}  // namespace lowtide::avx512
