// Blocks: exchanges between registers are shifts and masks, those inside a register vpermq, vpsllvq and vpsrlvq: some
// 500 instructions for 4096 bits, which bind. Sixteen words lie in L1, since the exchanges between registers need all of
// them. Words of rows come together four rows by four words, in eight shuffles; the rows to come are asked for, because
// a piece of every row is too short a stream for the processor to see it coming. Levels of 3 bits are widened by pdep.
#include <immintrin.h>

#include "lowtide/ops/code_transpose/blocks.hpp"

namespace lowtide::avx2 {
namespace {

// mask ? a : b, bit by bit.
inline __m256i select(__m256i mask, __m256i a, __m256i b) {
  return _mm256_or_si256(_mm256_and_si256(mask, a), _mm256_andnot_si256(mask, b));
}

// The low `shift` bits of each run of 2 * shift bits.
constexpr std::uint64_t low_bits(unsigned shift) { return ~std::uint64_t{0} / ((std::uint64_t{1} << shift) + 1); }

// Exchange across registers, of N: words 4 * Half apart, which is 4 * Half levels.
template <unsigned Bits, unsigned N, unsigned Half>
inline void exchange_registers(__m256i* x) {
  if constexpr (Half > 0) {
    constexpr unsigned shift = 4 * Half * Bits;
    const __m256i low = _mm256_set1_epi64x(static_cast<long long>(low_bits(shift)));
    for (unsigned i = 0; i < N; ++i) {
      if (i & Half) continue;
      const __m256i a = x[i], b = x[i + Half];
      x[i] = select(low, a, _mm256_slli_epi64(b, shift));
      x[i + Half] = select(low, _mm256_srli_epi64(a, shift), b);
    }
    exchange_registers<Bits, N, Half / 2>(x);
  }
}

// Exchange inside a register: lanes Half apart, which is Half levels. A lane's partner is shifted left for the lower
// lane of a pair, right for the upper one (a shift by 64 gives zero).
template <unsigned Bits, unsigned N, unsigned Half>
inline void exchange_lanes(__m256i* x) {
  constexpr unsigned shift = Half * Bits;
  constexpr long long low = static_cast<long long>(low_bits(shift));
  constexpr bool upper[4] = {(0 & Half) != 0, (1 & Half) != 0, (2 & Half) != 0, (3 & Half) != 0};
  alignas(32) long long left[4], right[4], keep[4];
  for (unsigned lane = 0; lane < 4; ++lane) {
    left[lane] = upper[lane] ? 64 : shift;
    right[lane] = upper[lane] ? shift : 64;
    keep[lane] = upper[lane] ? ~low : low;
  }
  const __m256i up = _mm256_load_si256(reinterpret_cast<const __m256i*>(left));
  const __m256i down = _mm256_load_si256(reinterpret_cast<const __m256i*>(right));
  const __m256i mask = _mm256_load_si256(reinterpret_cast<const __m256i*>(keep));
  for (unsigned i = 0; i < N; ++i) {
    const __m256i partner = _mm256_permute4x64_epi64(x[i], Half == 2 ? 0x4E : 0xB1);
    x[i] = select(mask, x[i], _mm256_or_si256(_mm256_sllv_epi64(partner, up), _mm256_srlv_epi64(partner, down)));
  }
}

// Four words of four rows side by side.
inline void four_by_four(const std::uint64_t* rows, std::size_t row_words, std::uint64_t* words, std::size_t stride) {
  const auto row = [&](std::size_t i) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + i * row_words));
  };
  const __m256i a = row(0), b = row(1), c = row(2), d = row(3);
  const __m256i ab0 = _mm256_unpacklo_epi64(a, b), ab1 = _mm256_unpackhi_epi64(a, b);
  const __m256i cd0 = _mm256_unpacklo_epi64(c, d), cd1 = _mm256_unpackhi_epi64(c, d);
  const auto put = [&](std::size_t w, __m256i x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(words + w * stride), x);
  };
  put(0, _mm256_permute2x128_si256(ab0, cd0, 0x20));
  put(1, _mm256_permute2x128_si256(ab1, cd1, 0x20));
  put(2, _mm256_permute2x128_si256(ab0, cd0, 0x31));
  put(3, _mm256_permute2x128_si256(ab1, cd1, 0x31));
}

void widened_words(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t first_word,
                   std::size_t last_word, std::uint64_t* words, std::size_t stride);

struct V {
  template <unsigned Bits>
  static void transpose(std::uint64_t* block, std::uint64_t* to, std::size_t stride) {
    constexpr unsigned n = 16 / Bits;  // registers
    auto* x = reinterpret_cast<__m256i*>(block);
    exchange_registers<Bits, n, n / 2>(x);
    exchange_lanes<Bits, n, 2>(x);
    exchange_lanes<Bits, n, 1>(x);
    transpose_blocks::spread_words<V, 64 / Bits>(block, to, stride);
  }

  static void rows_to_words(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words,
                            std::size_t first_word, std::size_t last_word, unsigned bits, std::uint64_t* words,
                            std::size_t stride) {
    constexpr std::size_t rows_ahead = 32, line = 8;
    if (bits == 3) return widened_words(rows, n_rows, row_words, first_word, last_word, words, stride);
    const std::size_t whole = (last_word - first_word) / 4 * 4;
    std::size_t i = 0;
    for (; i + 4 <= n_rows; i += 4) {
      const std::uint64_t* some = rows + i * row_words + first_word;
      for (std::size_t ahead = rows_ahead; ahead < rows_ahead + 4; ++ahead)
        for (std::size_t w = 0; w < last_word - first_word; w += line)
          _mm_prefetch(reinterpret_cast<const char*>(some + ahead * row_words + w), _MM_HINT_T0);
      for (std::size_t w = 0; w < whole; w += 4) four_by_four(some + w, row_words, words + w * stride + i, stride);
      for (std::size_t w = whole; w < last_word - first_word; ++w)
        for (std::size_t r = 0; r < 4; ++r) words[w * stride + i + r] = some[r * row_words + w];
    }
    for (; i < n_rows; ++i)
      for (std::size_t w = first_word; w < last_word; ++w)
        words[(w - first_word) * stride + i] = rows[i * row_words + w];
  }
};

void widened_words(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t first_word,
                   std::size_t last_word, std::uint64_t* words, std::size_t stride) {
  for (std::size_t i = 0; i < n_rows; ++i)
    for (std::size_t w = first_word; w < last_word; ++w)
      words[(w - first_word) * stride + i] =
          _pdep_u64(transpose_blocks::three_bit_levels<V>(rows + i * row_words, row_words, w), 0x7777777777777777);
}

}  // namespace

const TransposeOp code_transpose = transpose_blocks::op<V>;

}  // namespace lowtide::avx2
