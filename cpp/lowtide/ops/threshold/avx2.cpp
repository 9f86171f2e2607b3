// The magnitude is searched among the positive borders and the sign flips all bits of the level: up to 7 borders, so
// 4-bit levels, sit in one register, from which vpermps picks; the first halving is a compare with a broadcast. Among
// more, a gather says how many lie in lower cells and another looks at the next. Bound by the vector ports, some 14
// instructions for 8 levels of 4 bits. Tail: the last few projections through a padded copy.
#include <immintrin.h>

#include "lowtide/ops/threshold/threshold.hpp"

namespace lowtide::avx2 {
namespace {

constexpr std::size_t lanes = 8;

struct Tail {
  alignas(32) float v[64] = {}, scale[64] = {};
  Tail(const float* from_v, const float* from_scale, std::size_t n) {
    for (std::size_t j = 0; j < n; ++j) v[j] = from_v[j], scale[j] = from_scale[j];
  }
};

inline __m256 normalized(const float* v, const float* scale, __m256 factor) {
  return _mm256_mul_ps(_mm256_mul_ps(_mm256_loadu_ps(v), factor), _mm256_loadu_ps(scale));
}

inline __m256i step(__m256i c, __m256 border, __m256 magnitude, int size) {
  const __m256i reached = _mm256_castps_si256(_mm256_cmp_ps(border, magnitude, _CMP_LE_OQ));
  return _mm256_add_epi32(c, _mm256_and_si256(reached, _mm256_set1_epi32(size)));
}

constexpr int by_cells = -1;

inline __m256i count_by_cells(__m256 magnitude, const LineRule& rule) {
  const __m256 last = _mm256_set1_ps(static_cast<float>(rule.n_cells - 1));
  const __m256 cell = _mm256_mul_ps(magnitude, _mm256_set1_ps(rule.cells));
  // What is not a number counts as 0.
  const __m256 valid = _mm256_and_ps(cell, _mm256_cmp_ps(cell, cell, _CMP_ORD_Q));
  __m256i c = _mm256_i32gather_epi32(rule.start, _mm256_cvttps_epi32(_mm256_min_ps(valid, last)), 4);
  for (unsigned i = 0; i < rule.most; ++i) c = step(c, _mm256_i32gather_ps(rule.borders, c, 4), magnitude, 1);
  return c;
}

template <int Steps>
inline __m256i count(__m256 magnitude, const LineRule& rule) {
  if (Steps == by_cells) return count_by_cells(magnitude, rule);
  __m256i c = _mm256_setzero_si256();
  constexpr int first = Steps > 0 ? 1 << Steps >> 1 : 0;
  if (first > 0) c = step(c, _mm256_broadcast_ss(rule.borders + first - 1), magnitude, first);
#pragma GCC unroll 2
  for (int size = first >> 1; size > 0; size >>= 1) {
    const __m256i at = _mm256_add_epi32(c, _mm256_set1_epi32(size - 1));
    c = step(c, _mm256_permutevar8x32_ps(_mm256_load_ps(rule.borders), at), magnitude, size);
  }
  return c;
}

template <int Steps>
inline void group(const float* v, const float* scale, __m256 factor, const LineRule& rule, std::uint8_t* out) {
  const __m256 u = normalized(v, scale, factor);
  const __m256i c = count<Steps>(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), u), rule);
  const __m256i above = _mm256_add_epi32(c, _mm256_set1_epi32(static_cast<int>(rule.n_borders) + 1));
  const __m256i negative = _mm256_castps_si256(_mm256_cmp_ps(u, _mm256_setzero_ps(), _CMP_LT_OQ));
  // 2 half - 1 is all ones in the bits of a level: half + c flipped is half - 1 - c.
  const __m256i flip = _mm256_and_si256(negative, _mm256_set1_epi32(2 * static_cast<int>(rule.n_borders) + 1));
  const __m256i level = _mm256_xor_si256(above, flip);
  const __m128i pairs = _mm_packus_epi32(_mm256_castsi256_si128(level), _mm256_extracti128_si256(level, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_packus_epi16(pairs, pairs));
}

template <int Steps>
void groups(const float* v, std::size_t n, const float* scale, float factor, const LineRule& rule,
            std::uint8_t* levels) {
  const __m256 wide = _mm256_set1_ps(factor);
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes) group<Steps>(v + j, scale + j, wide, rule, levels + j);
  if (j == n) return;
  const Tail tail(v + j, scale + j, n - j);
  std::uint8_t last[lanes];
  group<Steps>(tail.v, tail.scale, wide, rule, last);
  for (std::size_t i = j; i < n; ++i) levels[i] = last[i - j];
}

inline std::uint64_t word(const float* v, const float* scale, __m256 factor) {
  std::uint64_t negative = 0;
  for (unsigned g = 0; g < 8; ++g) {
    const __m256 u = normalized(v + g * lanes, scale + g * lanes, factor);
    const __m256 below = _mm256_cmp_ps(u, _mm256_setzero_ps(), _CMP_LT_OQ);
    negative |= static_cast<std::uint64_t>(_mm256_movemask_ps(below)) << (g * lanes);
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
    default: return groups<by_cells>(v, n, scale, factor, rule, levels);
  }
}

void threshold_bits(const float* v, std::size_t n, const float* scale, float factor, std::uint64_t* row) {
  const __m256 wide = _mm256_set1_ps(factor);
  std::size_t j = 0;
  for (; j + 64 <= n; j += 64) *row++ = word(v + j, scale + j, wide);
  if (j == n) return;
  const Tail tail(v + j, scale + j, n - j);
  *row = _bzhi_u64(word(tail.v, tail.scale, wide), static_cast<unsigned>(n - j));
}

}  // namespace lowtide::avx2
