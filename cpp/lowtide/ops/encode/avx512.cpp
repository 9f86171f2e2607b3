// vreduceps gives u - rint(u) in one instruction (0, not NaN, where u is infinite: the same level by the contract);
// borders and table of up to 15 entries are searched in registers with vpermps, longer ones with gathers. Two one-bit
// masks are interleaved with pdep. One bit is bound by the two vector ports, some 14 instructions for 32 levels. Tail:
// the last few frequencies through a padded copy.
#include <immintrin.h>

#include "lowtide/ops/encode/encode.hpp"

namespace lowtide::avx512 {
namespace {

constexpr std::size_t lanes = 16;

struct Tail {
  alignas(64) float v[64] = {}, scale[64] = {}, offset[64] = {};
  Tail(const float* from_v, const float* from_scale, const float* from_offset, std::size_t n) {
    for (std::size_t j = 0; j < n; ++j) v[j] = from_v[j], scale[j] = from_scale[j], offset[j] = from_offset[j];
  }
};

inline __m512 phase(const float* v, const float* scale, const float* offset) {
  return _mm512_add_ps(_mm512_mul_ps(_mm512_loadu_ps(v), _mm512_loadu_ps(scale)), _mm512_loadu_ps(offset));
}

inline __m512 even_fraction(__m512 u) {
  return _mm512_abs_ps(_mm512_reduce_ps(u, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

inline __m512 fraction(__m512 u) {
  const __m512 f = _mm512_sub_ps(u, _mm512_roundscale_ps(u, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC));
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(f, _mm512_set1_ps(1.0f), _CMP_LT_OQ), f);
}

// How levels are found: a number of halvings with borders and table in registers, or one of these.
constexpr int by_equal_borders = 0, by_gathers = -1;

template <bool Even>
inline __m512i step(__m512i c, __m512 border, __m512 f, int size) {
  const __mmask16 below = _mm512_cmp_ps_mask(border, f, Even ? _CMP_LT_OQ : _CMP_LE_OQ);
  return _mm512_mask_add_epi32(c, below, c, _mm512_set1_epi32(size));
}

template <bool Even, int Steps>
inline __m512i level_in_registers(__m512 f, const LevelRule& rule) {
  const __m512 borders = _mm512_load_ps(rule.borders);
  __m512i c = _mm512_setzero_si512();
#pragma GCC unroll 4
  for (int size = 1 << Steps >> 1; size > 0; size >>= 1)
    c = step<Even>(c, _mm512_permutexvar_ps(_mm512_add_epi32(c, _mm512_set1_epi32(size - 1)), borders), f, size);
  return _mm512_permutexvar_epi32(c, _mm512_load_si512(rule.table));
}

template <bool Even, int How>
inline __m512i level(__m512 u, const LevelRule& rule) {
  const __m512 f = Even ? even_fraction(u) : fraction(u);
  if constexpr (How > 0) return level_in_registers<Even, How>(f, rule);
  __m512i c = _mm512_setzero_si512();
  if (How == by_equal_borders) {
    c = _mm512_cvttps_epi32(_mm512_mul_ps(f, _mm512_set1_ps(static_cast<float>(1u << rule.n_steps))));
    if (rule.n_steps <= 4) return _mm512_permutexvar_epi32(c, _mm512_load_si512(rule.table));
  } else {
    for (int size = 1 << rule.n_steps >> 1; size > 0; size >>= 1) {
      const __m512i at = _mm512_add_epi32(c, _mm512_set1_epi32(size - 1));
      c = step<Even>(c, _mm512_i32gather_ps(at, rule.borders, 4), f, size);
    }
  }
  return _mm512_i32gather_epi32(c, rule.table, 4);
}

template <bool Even, int How>
inline void group(const float* v, const float* scale, const float* offset, const LevelRule& rule, std::uint8_t* out) {
  const __m512 t = phase(v, scale, offset);
  const __m512i first = level<Even, How>(_mm512_add_ps(t, _mm512_set1_ps(rule.shifts[0])), rule);
  if (rule.width == 1) return _mm_storeu_si128(reinterpret_cast<__m128i*>(out), _mm512_cvtepi32_epi8(first));
  const __m512i second = level<Even, How>(_mm512_add_ps(t, _mm512_set1_ps(rule.shifts[1])), rule);
  const __m512i pair = _mm512_or_si512(first, _mm512_slli_epi32(second, 8));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), _mm512_cvtepi32_epi16(pair));
}

template <bool Even, int How>
void groups(const float* v, std::size_t n, const float* scale, const float* offset, const LevelRule& rule,
            std::uint8_t* levels) {
  std::size_t j = 0;
  for (; j + lanes <= n; j += lanes) group<Even, How>(v + j, scale + j, offset + j, rule, levels + j * rule.width);
  if (j == n) return;
  const Tail tail(v + j, scale + j, offset + j, n - j);
  std::uint8_t last[2 * lanes];
  group<Even, How>(tail.v, tail.scale, tail.offset, rule, last);
  for (std::size_t i = 0; i < (n - j) * rule.width; ++i) levels[j * rule.width + i] = last[i];
}

template <bool Even>
void by_steps(const float* v, std::size_t n, const float* scale, const float* offset, const LevelRule& rule,
              std::uint8_t* levels) {
  if (rule.n_steps <= 2) return groups<Even, 2>(v, n, scale, offset, rule, levels);
  if (rule.n_steps == 3) return groups<Even, 3>(v, n, scale, offset, rule, levels);
  if (rule.n_steps == 4) return groups<Even, 4>(v, n, scale, offset, rule, levels);
  groups<Even, by_gathers>(v, n, scale, offset, rule, levels);
}

inline std::uint64_t bits16(__m512 u, __m512 border) {
  return _mm512_cmp_ps_mask(even_fraction(u), border, _CMP_NGT_UQ);
}

// One word: 64 frequencies of width 1, or 32 of width 2.
template <unsigned Width>
inline std::uint64_t word(const float* v, const float* scale, const float* offset, const BitRule& rule) {
  const __m512 border = _mm512_set1_ps(rule.border);
  std::uint64_t bits[2] = {0, 0};
  for (std::size_t g = 0; g < 4 / Width; ++g) {
    const __m512 t = phase(v + g * lanes, scale + g * lanes, offset + g * lanes);
    for (unsigned k = 0; k < Width; ++k)
      bits[k] |= bits16(_mm512_add_ps(t, _mm512_set1_ps(rule.shifts[k])), border) << (g * lanes);
  }
  const std::uint64_t merged =
      Width == 1 ? bits[0] : _pdep_u64(bits[0], 0x5555555555555555u) | _pdep_u64(bits[1], 0xaaaaaaaaaaaaaaaau);
  return rule.flip ? ~merged : merged;
}

template <unsigned Width>
void words(const float* v, std::size_t n, const float* scale, const float* offset, const BitRule& rule,
           std::size_t n_levels, std::uint64_t* row) {
  constexpr std::size_t per_word = 64 / Width;
  std::size_t j = 0;
  for (; (j + per_word) * Width <= n_levels; j += per_word) *row++ = word<Width>(v + j, scale + j, offset + j, rule);
  if (j * Width >= n_levels) return;
  const std::size_t rest = n - j < per_word ? n - j : per_word;
  const Tail tail(v + j, scale + j, offset + j, rest);
  *row = _bzhi_u64(word<Width>(tail.v, tail.scale, tail.offset, rule), static_cast<unsigned>(n_levels - j * Width));
}

}  // namespace

void encode_levels(const float* v, std::size_t n, const float* scale, const float* offset, const LevelRule& rule,
                   std::uint8_t* levels) {
  if (rule.width > 2) return scalar::encode_levels(v, n, scale, offset, rule, levels);
  if (rule.equal) return groups<false, by_equal_borders>(v, n, scale, offset, rule, levels);
  if (rule.even) return by_steps<true>(v, n, scale, offset, rule, levels);
  by_steps<false>(v, n, scale, offset, rule, levels);
}

void encode_bits(const float* v, std::size_t n, const float* scale, const float* offset, const BitRule& rule,
                 std::size_t n_levels, std::uint64_t* row) {
  if (rule.width == 1) return words<1>(v, n, scale, offset, rule, n_levels, row);
  words<2>(v, n, scale, offset, rule, n_levels, row);
}

}  // namespace lowtide::avx512
