// Borders and tables of up to 15 entries are searched in one or two registers with vpermps, longer ones with gathers;
// the permutations bind. One-bit compare masks are narrowed with packs and read off with movemask; pdep is not
// used, since some processors of this level have it in microcode. Tail: the last few frequencies through a padded copy.
#include <immintrin.h>

#include "lowtide/ops/encode/encode.hpp"

namespace lowtide::avx2 {
namespace {

constexpr std::size_t lanes = 8;

struct Tail {
  alignas(32) float v[64] = {}, scale[64] = {}, offset[64] = {};
  Tail(const float* from_v, const float* from_scale, const float* from_offset, std::size_t n) {
    for (std::size_t j = 0; j < n; ++j) v[j] = from_v[j], scale[j] = from_scale[j], offset[j] = from_offset[j];
  }
};

inline __m256 phase(const float* v, const float* scale, const float* offset) {
  return _mm256_add_ps(_mm256_mul_ps(_mm256_loadu_ps(v), _mm256_loadu_ps(scale)), _mm256_loadu_ps(offset));
}

inline __m256 even_fraction(__m256 u) {
  const __m256 f = _mm256_sub_ps(u, _mm256_round_ps(u, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), f);
}

inline __m256 fraction(__m256 u) {
  const __m256 f = _mm256_sub_ps(u, _mm256_floor_ps(u));
  return _mm256_and_ps(f, _mm256_cmp_ps(f, _mm256_set1_ps(1.0f), _CMP_LT_OQ));
}

// How levels are found: a number of halvings with borders and table in registers, or one of these.
constexpr int by_equal_borders = 0, by_gathers = -1;

template <bool Even>
inline __m256i step(__m256i c, __m256 border, __m256 f, int size) {
  const __m256i below = _mm256_castps_si256(_mm256_cmp_ps(border, f, Even ? _CMP_LT_OQ : _CMP_LE_OQ));
  return _mm256_add_epi32(c, _mm256_and_si256(below, _mm256_set1_epi32(size)));
}

// Entry `at` of a table of 8 << (Steps == 4) floats; `upper` says by its sign bit which eight.
template <int Steps>
inline __m256 look_up(const float* table, __m256i at, __m256i upper) {
  const __m256 low = _mm256_permutevar8x32_ps(_mm256_load_ps(table), at);
  if (Steps < 4) return low;
  const __m256 high = _mm256_permutevar8x32_ps(_mm256_load_ps(table + 8), at);
  return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(upper));
}

template <bool Even, int Steps>
inline __m256i level_in_registers(__m256 f, const LevelRule& rule) {
  __m256i c = _mm256_setzero_si256(), upper = c;
  if (Steps == 4) c = step<Even>(c, _mm256_broadcast_ss(rule.borders + 7), f, 8), upper = _mm256_slli_epi32(c, 28);
#pragma GCC unroll 3
  for (int size = Steps == 2 ? 2 : 4; size > 0; size >>= 1) {
    const __m256i at = _mm256_add_epi32(c, _mm256_set1_epi32(size - 1));
    c = step<Even>(c, look_up<Steps>(rule.borders, at, upper), f, size);
  }
  return _mm256_castps_si256(look_up<Steps>(reinterpret_cast<const float*>(rule.table), c, upper));
}

template <bool Even, int How>
inline __m256i level(__m256 u, const LevelRule& rule) {
  const __m256 f = Even ? even_fraction(u) : fraction(u);
  if constexpr (How > 0) return level_in_registers<Even, How>(f, rule);
  __m256i c = _mm256_setzero_si256();
  if (How == by_equal_borders) {
    c = _mm256_cvttps_epi32(_mm256_mul_ps(f, _mm256_set1_ps(static_cast<float>(1u << rule.n_steps))));
    const float* table = reinterpret_cast<const float*>(rule.table);
    if (rule.n_steps <= 4) return _mm256_castps_si256(look_up<4>(table, c, _mm256_slli_epi32(c, 28)));
  } else {
    for (int size = 1 << rule.n_steps >> 1; size > 0; size >>= 1) {
      const __m256i at = _mm256_add_epi32(c, _mm256_set1_epi32(size - 1));
      c = step<Even>(c, _mm256_i32gather_ps(rule.borders, at, 4), f, size);
    }
  }
  return _mm256_i32gather_epi32(rule.table, c, 4);
}

// The levels of 8 frequencies in 32-bit lanes: one byte of each lane is used for width 1, two for width 2.
template <bool Even, int How>
inline __m256i levels8(const float* v, const float* scale, const float* offset, const LevelRule& rule) {
  const __m256 t = phase(v, scale, offset);
  const __m256i first = level<Even, How>(_mm256_add_ps(t, _mm256_set1_ps(rule.shifts[0])), rule);
  if (rule.width == 1) return first;
  const __m256i second = level<Even, How>(_mm256_add_ps(t, _mm256_set1_ps(rule.shifts[1])), rule);
  return _mm256_or_si256(first, _mm256_slli_epi32(second, 8));
}

template <bool Even, int How>
inline void group(const float* v, const float* scale, const float* offset, const LevelRule& rule, std::uint8_t* out) {
  const __m256i wide = levels8<Even, How>(v, scale, offset, rule);
  const __m256i zero = _mm256_setzero_si256();
  const __m128i pairs = _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_packus_epi32(wide, zero), 0x08));
  if (rule.width == 2) return _mm_storeu_si128(reinterpret_cast<__m128i*>(out), pairs);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(out), _mm_packus_epi16(pairs, pairs));
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

inline __m256i bits8(__m256 t, float shift, __m256 border) {
  const __m256 f = even_fraction(_mm256_add_ps(t, _mm256_set1_ps(shift)));
  return _mm256_castps_si256(_mm256_cmp_ps(f, border, _CMP_NGT_UQ));
}

// Masks of 32 frequencies to bytes; 32-bit group g of the low half holds 4g' of vector g, of the high half 4 more.
inline __m256i narrow(const __m256i (&m)[4]) {
  return _mm256_packs_epi16(_mm256_packs_epi32(m[0], m[1]), _mm256_packs_epi32(m[2], m[3]));
}

inline std::uint64_t read_off(__m256i bytes) { return static_cast<std::uint32_t>(_mm256_movemask_epi8(bytes)); }

// The bits of 32 frequencies: 32 of them for width 1, 64 interleaved for width 2.
template <unsigned Width>
inline std::uint64_t bits32(const float* v, const float* scale, const float* offset, const BitRule& rule) {
  const __m256 border = _mm256_set1_ps(rule.border);
  __m256i m[2][4];
  for (std::size_t g = 0; g < 4; ++g) {
    const __m256 t = phase(v + g * lanes, scale + g * lanes, offset + g * lanes);
    for (unsigned k = 0; k < Width; ++k) m[k][g] = bits8(t, rule.shifts[k], border);
  }
  const __m256i first = narrow(m[0]);
  if (Width == 1) return read_off(_mm256_permutevar8x32_epi32(first, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
  const __m256i second = narrow(m[Width - 1]);
  const __m256i low = _mm256_permute4x64_epi64(_mm256_unpacklo_epi8(first, second), 0xd8);
  const __m256i high = _mm256_permute4x64_epi64(_mm256_unpackhi_epi8(first, second), 0xd8);
  return read_off(low) | read_off(high) << 32;
}

// One word: 64 frequencies of width 1, or 32 of width 2.
template <unsigned Width>
inline std::uint64_t word(const float* v, const float* scale, const float* offset, const BitRule& rule) {
  std::uint64_t bits = bits32<Width>(v, scale, offset, rule);
  if (Width == 1) bits |= bits32<Width>(v + 32, scale + 32, offset + 32, rule) << 32;
  return rule.flip ? ~bits : bits;
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

}  // namespace lowtide::avx2
