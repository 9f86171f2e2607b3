// vpshufb, vpaddb: the nibbles of 32 rows pick a byte each of a table. Four digits of six bits, so that four look-ups are
// added as bytes before they are widened: ten instructions for a digit of 512 bits. Widening is by halves of 16-bit
// words: whole words are added to one sum, upper bytes to another, and what the upper bytes brought into the first is
// taken off at the end. Binds: the vector pipes that all of these share; measured 147 G bits a second on one core.
#include "lowtide/ops/bit_dot/bit_dot.hpp"

#include "lowtide/ops/code_dot/nibbles_avx2.hpp"

namespace lowtide::avx2 {
namespace {

constexpr int kDigits = 4, kDigitBits = 6;
constexpr std::size_t kWordQuads = 4;  // of four nibbles
constexpr std::size_t kRegister = 32;  // rows

// [quad][digit][nibble][16 entries]
std::size_t weights_bytes(std::size_t n_words) { return kWordQuads * n_words * kDigits * 64; }

// Places of a register for the entries with bit b of p, entries 0 to 3 and 8 to 11: those that packing leaves in order.
inline __m256 where(__m256 weight, int b0, int b1, int b3) {
  const __m256i mask = _mm256_setr_epi32(0, -b0, -b1, -(b0 | b1), -b3, -(b0 | b3), -(b1 | b3), -(b0 | b1 | b3));
  return _mm256_and_ps(weight, _mm256_castsi256_ps(mask));
}

// The 16 bytes of digits d and d + 1 of the sums of a nibble.
inline __m256i two_digits(__m256i low, __m256i high, int d) {
  const __m256i six = _mm256_set1_epi32((1 << kDigitBits) - 1);
  __m256i pair[2];
  for (int i = 0; i < 2; ++i) {
    const __m128i shift = _mm_cvtsi32_si128(kDigitBits * (d + i));
    pair[i] = _mm256_packus_epi32(_mm256_and_si256(_mm256_srl_epi32(low, shift), six),
                                  _mm256_and_si256(_mm256_srl_epi32(high, shift), six));
  }
  return _mm256_permute4x64_epi64(_mm256_packus_epi16(pair[0], pair[1]), 0xD8);
}

void prepare_weights(const float* weights, std::size_t n_words, void* tables) {
  auto* to = static_cast<std::uint8_t*>(tables);
  for (std::size_t quad = 0; quad < kWordQuads * n_words; ++quad, to += kDigits * 64)
    for (int nibble = 0; nibble < 4; ++nibble, weights += 4) {
      const __m256 zero = where(_mm256_broadcast_ss(weights), 1, 0, 0);
      const __m256 one = where(_mm256_broadcast_ss(weights + 1), 0, 1, 0);
      const __m256 three = where(_mm256_broadcast_ss(weights + 3), 0, 0, 1);
      const __m256 sum = _mm256_add_ps(_mm256_add_ps(zero, one), three);
      const __m256i low = _mm256_cvtps_epi32(sum);
      const __m256i high = _mm256_cvtps_epi32(_mm256_add_ps(sum, _mm256_broadcast_ss(weights + 2)));
      auto* lane = reinterpret_cast<__m128i*>(to) + nibble;
      for (int d = 0; d < kDigits; d += 2) {
        const __m256i both = two_digits(low, high, d);
        _mm_store_si128(lane + 4 * d, _mm256_castsi256_si128(both));
        _mm_store_si128(lane + 4 * (d + 1), _mm256_extracti128_si256(both, 1));
      }
    }
}

// Adds integers below 2^32 to four doubles, by way of the bits of 2^52 + n.
inline void add_to(double* sums, __m128i more) {
  const __m256i bits = _mm256_or_si256(_mm256_cvtepu32_epi64(more), _mm256_set1_epi64x(0x4330000000000000));
  const __m256d value = _mm256_sub_pd(_mm256_castsi256_pd(bits), _mm256_set1_pd(4503599627370496.0));
  _mm256_storeu_pd(sums, _mm256_add_pd(_mm256_loadu_pd(sums), value));
}

// What a digit of 16 rows is worth, added to their sums in 32 bits.
inline void add_digit(__m256i (&total)[2], __m256i words, int digit) {
  const __m128i shift = _mm_cvtsi32_si128(kDigitBits * digit);
  total[0] = _mm256_add_epi32(total[0], _mm256_sll_epi32(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(words)), shift));
  total[1] =
      _mm256_add_epi32(total[1], _mm256_sll_epi32(_mm256_cvtepu16_epi32(_mm256_extracti128_si256(words, 1)), shift));
}

// N registers of 32 rows.
template <int N>
void sum_rows(const std::uint8_t* bits, const std::uint8_t* tables, std::size_t n_quads, double* sums) {
  using V = NibbleRegister;
  __m256i even_rows[N][2], odd_rows[N][2];
#pragma GCC unroll 4
  for (int v = 0; v < N; ++v)
    for (int h = 0; h < 2; ++h) even_rows[v][h] = odd_rows[v][h] = V::zero();
  for (int d = 0; d < kDigits; ++d) {
    __m256i whole[N], upper[N];
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) whole[v] = upper[v] = V::zero();
    const std::uint8_t *nibbles = bits, *entries = tables + d * 64;
    for (std::size_t quad = 0; quad < n_quads; ++quad, nibbles += 4 * kDotRows, entries += kDigits * 64) {
      __m256i table[4];
#pragma GCC unroll 4
      for (int c = 0; c < 4; ++c)
        table[c] = _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(entries) + c));
#pragma GCC unroll 4
      for (int v = 0; v < N; ++v) {
        __m256i found[4];
#pragma GCC unroll 4
        for (int c = 0; c < 4; ++c)
          found[c] = V::look_up(table[c], V::load(nibbles + static_cast<std::size_t>(c) * kDotRows + v * kRegister));
        const __m256i sum = V::add_bytes(V::add_bytes(found[0], found[1]), V::add_bytes(found[2], found[3]));
        whole[v] = _mm256_add_epi16(whole[v], sum);
        upper[v] = _mm256_add_epi16(upper[v], _mm256_srli_epi16(sum, 8));
      }
    }
#pragma GCC unroll 4
    for (int v = 0; v < N; ++v) {
      add_digit(even_rows[v], _mm256_sub_epi16(whole[v], _mm256_slli_epi16(upper[v], 8)), d);
      add_digit(odd_rows[v], upper[v], d);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < N; ++v)
    for (int h = 0; h < 2; ++h) {
      const __m256i low = _mm256_unpacklo_epi32(even_rows[v][h], odd_rows[v][h]);
      const __m256i high = _mm256_unpackhi_epi32(even_rows[v][h], odd_rows[v][h]);
      double* to = sums + v * kRegister + h * 16;
      add_to(to, _mm256_castsi256_si128(low));
      add_to(to + 4, _mm256_castsi256_si128(high));
      add_to(to + 8, _mm256_extracti128_si256(low, 1));
      add_to(to + 12, _mm256_extracti128_si256(high, 1));
    }
}

void multiply(const void* bits, const void* tables, std::size_t n_words, std::size_t n_rows, double* sums) {
  const auto *from = static_cast<const std::uint8_t*>(bits), *entries = static_cast<const std::uint8_t*>(tables);
  const std::size_t n_quads = kWordQuads * n_words;
  constexpr std::size_t whole = 4 * kRegister;
  std::size_t i = 0;
  for (; i + whole - kRegister < n_rows; i += whole) sum_rows<4>(from + i, entries, n_quads, sums + i);
  for (; i < n_rows; i += kRegister) sum_rows<1>(from + i, entries, n_quads, sums + i);
}

}  // namespace

const BitDotOp bit_dot = {nibbles::panel_bytes, weights_bytes, NibbleTiles::prepare, prepare_weights, multiply};

}  // namespace lowtide::avx2
