// 64 x 64 bits in eight registers: three exchanges between registers (vpsllq, vpsrlq, vpternlogq), three inside them
// (vpermq, vprolvq, vpternlogq), 120 instructions for 4096 bits. Binds: the 64 loads and 64 stores that bring words of
// different rows together. 2- and 4-bit levels use the scalar form. Rows past the end are zero rows.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false alarms of GCC 12 inside its own header
#include <immintrin.h>

#include "lowtide/ops/code_transpose/code_transpose.hpp"

namespace lowtide::avx512 {
namespace {

constexpr int kSelect = 0xCA;  // vpternlog: first ? second : third

// The low Shift bits of each run of 2 * Shift bits.
template <unsigned Shift>
inline __m512i low_bits() {
  return _mm512_set1_epi64(static_cast<long long>(~std::uint64_t{0} / ((std::uint64_t{1} << Shift) + 1)));
}

// Exchange across registers: words 8 * Half apart, which is Shift = 8 * Half bits.
template <unsigned Half>
inline void exchange_registers(__m512i x[8]) {
  constexpr unsigned shift = 8 * Half;
  const __m512i low = low_bits<shift>();
  for (unsigned i = 0; i < 8; ++i) {
    if (i & Half) continue;
    const __m512i a = x[i], b = x[i + Half];
    x[i] = _mm512_ternarylogic_epi64(low, a, _mm512_slli_epi64(b, shift), kSelect);
    x[i + Half] = _mm512_ternarylogic_epi64(low, _mm512_srli_epi64(a, shift), b, kSelect);
  }
}

// Exchange inside a register: lanes Half apart, which is Half bits. A lane's partner is rotated left for the lower
// lane of a pair, right for the upper one; `keep` says which bits stay.
template <unsigned Half>
inline void exchange_lanes(__m512i x[8]) {
  alignas(64) long long partner[8], turn[8], keep[8];
  constexpr std::uint64_t low = ~std::uint64_t{0} / ((std::uint64_t{1} << Half) + 1);
  for (unsigned lane = 0; lane < 8; ++lane) {
    partner[lane] = lane ^ Half;
    turn[lane] = lane & Half ? 64 - Half : Half;
    keep[lane] = static_cast<long long>(lane & Half ? ~low : low);
  }
  const __m512i at = _mm512_load_si512(partner), by = _mm512_load_si512(turn), mask = _mm512_load_si512(keep);
  for (unsigned i = 0; i < 8; ++i)
    x[i] = _mm512_ternarylogic_epi64(mask, x[i], _mm512_rolv_epi64(_mm512_permutexvar_epi64(at, x[i]), by), kSelect);
}

inline void transpose_block(std::uint64_t* block) {
  __m512i x[8];
  for (int i = 0; i < 8; ++i) x[i] = _mm512_load_si512(block + 8 * i);
  exchange_registers<4>(x);
  exchange_registers<2>(x);
  exchange_registers<1>(x);
  exchange_lanes<4>(x);
  exchange_lanes<2>(x);
  exchange_lanes<1>(x);
  for (int i = 0; i < 8; ++i) _mm512_store_si512(block + 8 * i, x[i]);
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
        alignas(64) std::uint64_t block[64];
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

}  // namespace lowtide::avx512
