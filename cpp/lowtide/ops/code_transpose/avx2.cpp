// 64 x 64 bits in a block of sixteen registers' size that stays in L1: four exchanges between registers (shifts and
// masks), two inside them (vpermq, vpsllvq, vpsrlvq), some 500 instructions for 4096 bits. Binds: those, and the 64
// loads and 64 stores that bring words of different rows together. 2- and 4-bit levels use the scalar form. Rows past
// the end are zero rows.
#include <immintrin.h>

#include "lowtide/ops/code_transpose/code_transpose.hpp"

namespace lowtide::avx2 {
namespace {

// mask ? a : b, bit by bit.
inline __m256i select(__m256i mask, __m256i a, __m256i b) {
  return _mm256_or_si256(_mm256_and_si256(mask, a), _mm256_andnot_si256(mask, b));
}

// Exchange across registers: words 4 * Half apart, which is 4 * Half bits.
template <unsigned Half>
inline void exchange_registers(__m256i x[16]) {
  constexpr unsigned shift = 4 * Half;
  // The low `shift` bits of each run of 2 * shift bits.
  constexpr std::uint64_t low_bits = ~std::uint64_t{0} / ((std::uint64_t{1} << shift) + 1);
  const __m256i low = _mm256_set1_epi64x(static_cast<long long>(low_bits));
  for (unsigned i = 0; i < 16; ++i) {
    if (i & Half) continue;
    const __m256i a = x[i], b = x[i + Half];
    x[i] = select(low, a, _mm256_slli_epi64(b, shift));
    x[i + Half] = select(low, _mm256_srli_epi64(a, shift), b);
  }
}

// Exchange inside a register: lanes Half apart, which is Half bits. A lane's partner is shifted left for the lower lane
// of a pair, right for the upper one (a shift by 64 gives zero).
template <unsigned Half>
inline void exchange_lanes(__m256i x[16]) {
  constexpr std::uint64_t low = ~std::uint64_t{0} / ((std::uint64_t{1} << Half) + 1);
  alignas(32) long long left[4], right[4], keep[4];
  for (unsigned lane = 0; lane < 4; ++lane) {
    left[lane] = lane & Half ? 64 : Half;
    right[lane] = lane & Half ? Half : 64;
    keep[lane] = static_cast<long long>(lane & Half ? ~low : low);
  }
  const __m256i up = _mm256_load_si256(reinterpret_cast<const __m256i*>(left));
  const __m256i down = _mm256_load_si256(reinterpret_cast<const __m256i*>(right));
  const __m256i mask = _mm256_load_si256(reinterpret_cast<const __m256i*>(keep));
  for (unsigned i = 0; i < 16; ++i) {
    const __m256i partner = _mm256_permute4x64_epi64(x[i], Half == 2 ? 0x4E : 0xB1);
    x[i] = select(mask, x[i], _mm256_or_si256(_mm256_sllv_epi64(partner, up), _mm256_srlv_epi64(partner, down)));
  }
}

inline void transpose_block(std::uint64_t* block) {
  auto* x = reinterpret_cast<__m256i*>(block);
  exchange_registers<8>(x);
  exchange_registers<4>(x);
  exchange_registers<2>(x);
  exchange_registers<1>(x);
  exchange_lanes<2>(x);
  exchange_lanes<1>(x);
}

void transpose_bits(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t first_word,
                    std::size_t last_word, std::uint64_t* out, std::size_t column_words) {
  // Eight words are one cache line of a row: read whole before the next block of rows.
  for (std::size_t strip = first_word; strip < last_word; strip += 8) {
    const std::size_t strip_end = strip + 8 < last_word ? strip + 8 : last_word;
    for (std::size_t b = 0; b < column_words; ++b) {
      const std::size_t top = b * 64;
      const std::size_t count = top >= n_rows ? 0 : (n_rows - top < 64 ? n_rows - top : 64);
      for (std::size_t w = strip; w < strip_end; ++w) {
        alignas(32) std::uint64_t block[64];
        for (std::size_t i = 0; i < count; ++i) block[i] = rows[(top + i) * row_words + w];
        for (std::size_t i = count; i < 64; ++i) block[i] = 0;
        if (count != 0) transpose_block(block);
        std::uint64_t* column = out + (w - first_word) * 64 * column_words + b;
        for (std::size_t i = 0; i < 64; ++i) column[i * column_words] = block[i];
      }
    }
  }
}

}  // namespace

void code_transpose(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t first_word,
                    std::size_t last_word, unsigned bits, std::uint64_t* out, std::size_t column_words) {
  if (bits != 1) return scalar::code_transpose(rows, n_rows, row_words, first_word, last_word, bits, out, column_words);
  transpose_bits(rows, n_rows, row_words, first_word, last_word, out, column_words);
}

}  // namespace lowtide::avx2
