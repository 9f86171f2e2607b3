// vpshufb, vpaddb: the nibbles of 32 rows pick a byte each of a table. Four digits of six bits, so that four look-ups are
// added as bytes before they are widened: ten instructions for a digit of 512 bits. Widening is by halves of 16-bit
// words: whole words are added to one sum, upper bytes to another, and what the upper bytes brought into the first is
// taken off at the end. Binds: the vector pipes that all of these share; measured 147 G bits a second on one core.
#include "lowtide/ops/bit_dot/tables.hpp"
#include "lowtide/ops/code_dot/nibbles_avx2.hpp"

namespace lowtide::avx2 {
namespace {

constexpr int kDigitBits = 6;

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

// Adds integers below 2^32 to four doubles, by way of the bits of 2^52 + n.
inline void add_four(double* sums, __m128i more) {
  const __m256i bits = _mm256_or_si256(_mm256_cvtepu32_epi64(more), _mm256_set1_epi64x(0x4330000000000000));
  const __m256d value = _mm256_sub_pd(_mm256_castsi256_pd(bits), _mm256_set1_pd(4503599627370496.0));
  _mm256_storeu_pd(sums, _mm256_add_pd(_mm256_loadu_pd(sums), value));
}

struct V : NibbleRegister {
  static constexpr int digits = 4;
  static Reg table(const std::uint8_t* entries) {
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(entries)));
  }

  static void put(const float* weights, std::uint8_t* to) {
    const __m256 zero = where(_mm256_broadcast_ss(weights), 1, 0, 0);
    const __m256 one = where(_mm256_broadcast_ss(weights + 1), 0, 1, 0);
    const __m256 three = where(_mm256_broadcast_ss(weights + 3), 0, 0, 1);
    const __m256 sum = _mm256_add_ps(_mm256_add_ps(zero, one), three);
    const __m256i low = _mm256_cvtps_epi32(sum);
    const __m256i high = _mm256_cvtps_epi32(_mm256_add_ps(sum, _mm256_broadcast_ss(weights + 2)));
    auto* lane = reinterpret_cast<__m128i*>(to);
    for (int d = 0; d < digits; d += 2) {
      const __m256i both = two_digits(low, high, d);
      _mm_store_si128(lane + 4 * d, _mm256_castsi256_si128(both));
      _mm_store_si128(lane + 4 * (d + 1), _mm256_extracti128_si256(both, 1));
    }
  }

  struct Sum {
    Reg whole, upper;
  };
  static void widen(Sum& sum, Reg bytes) {
    sum.whole = _mm256_add_epi16(sum.whole, bytes);
    sum.upper = _mm256_add_epi16(sum.upper, _mm256_srli_epi16(bytes, 8));
  }

  struct Total {
    Reg even_rows[2], odd_rows[2];
  };
  // What a digit of 16 rows is worth, added to their sums in 32 bits.
  static void add_words(Reg (&rows)[2], Reg words, int d) {
    const __m128i shift = _mm_cvtsi32_si128(kDigitBits * d);
    rows[0] = _mm256_add_epi32(rows[0], _mm256_sll_epi32(_mm256_cvtepu16_epi32(_mm256_castsi256_si128(words)), shift));
    rows[1] =
        _mm256_add_epi32(rows[1], _mm256_sll_epi32(_mm256_cvtepu16_epi32(_mm256_extracti128_si256(words, 1)), shift));
  }
  static void add_digit(Total& total, const Sum& sum, int d) {
    add_words(total.even_rows, _mm256_sub_epi16(sum.whole, _mm256_slli_epi16(sum.upper, 8)), d);
    add_words(total.odd_rows, sum.upper, d);
  }
  static void add_to(double* sums, const Total& total) {
    for (int h = 0; h < 2; ++h, sums += 16) {
      const Reg low = _mm256_unpacklo_epi32(total.even_rows[h], total.odd_rows[h]);
      const Reg high = _mm256_unpackhi_epi32(total.even_rows[h], total.odd_rows[h]);
      add_four(sums, _mm256_castsi256_si128(low));
      add_four(sums + 4, _mm256_castsi256_si128(high));
      add_four(sums + 8, _mm256_extracti128_si256(low, 1));
      add_four(sums + 12, _mm256_extracti128_si256(high, 1));
    }
  }
};

}  // namespace

const BitDotOp bit_dot = bit_tables::OfNibbles<V>::op;

}  // namespace lowtide::avx2
