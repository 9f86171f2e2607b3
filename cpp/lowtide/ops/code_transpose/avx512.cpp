// Blocks in registers, eight for 64 x 64 bits: exchanges between registers (vpsllq, vpsrlq, vpternlogq), then inside
// them (vpermq, vprolvq, vpternlogq), 120 instructions for 4096 bits. Binds: the loads and stores that bring words of
// different rows together, which are those of avx2.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false alarms of GCC 12 inside its own header
#include <immintrin.h>

#include "lowtide/ops/code_transpose/blocks.hpp"

namespace lowtide::avx512 {
namespace {

constexpr int kSelect = 0xCA;  // vpternlog: first ? second : third

// The low `shift` bits of each run of 2 * shift bits.
constexpr std::uint64_t low_bits(unsigned shift) { return ~std::uint64_t{0} / ((std::uint64_t{1} << shift) + 1); }

// Exchange across registers, of N: words 8 * Half apart, which is 8 * Half levels.
template <unsigned Bits, unsigned N, unsigned Half>
inline void exchange_registers(__m512i (&x)[N]) {
  if constexpr (Half > 0) {
    constexpr unsigned shift = 8 * Half * Bits;
    const __m512i low = _mm512_set1_epi64(static_cast<long long>(low_bits(shift)));
    for (unsigned i = 0; i < N; ++i) {
      if (i & Half) continue;
      const __m512i a = x[i], b = x[i + Half];
      x[i] = _mm512_ternarylogic_epi64(low, a, _mm512_slli_epi64(b, shift), kSelect);
      x[i + Half] = _mm512_ternarylogic_epi64(low, _mm512_srli_epi64(a, shift), b, kSelect);
    }
    exchange_registers<Bits, N, Half / 2>(x);
  }
}

// Exchange inside a register: lanes Half apart, which is Half levels. A lane's partner is rotated left for the lower
// lane of a pair, right for the upper one; `keep` says which bits stay.
template <unsigned Bits, unsigned N, unsigned Half>
inline void exchange_lanes(__m512i (&x)[N]) {
  if constexpr (Half > 0) {
    constexpr unsigned shift = Half * Bits;
    constexpr long long low = static_cast<long long>(low_bits(shift));
    alignas(64) long long partner[8], turn[8], keep[8];
    for (unsigned lane = 0; lane < 8; ++lane) {
      partner[lane] = lane ^ Half;
      turn[lane] = lane & Half ? 64 - shift : shift;
      keep[lane] = lane & Half ? ~low : low;
    }
    const __m512i at = _mm512_load_si512(partner), by = _mm512_load_si512(turn), mask = _mm512_load_si512(keep);
    for (unsigned i = 0; i < N; ++i)
      x[i] = _mm512_ternarylogic_epi64(mask, x[i], _mm512_rolv_epi64(_mm512_permutexvar_epi64(at, x[i]), by), kSelect);
    exchange_lanes<Bits, N, Half / 2>(x);
  }
}

struct V {
  template <unsigned Bits>
  static void transpose(std::uint64_t* block, std::uint64_t* to, std::size_t stride) {
    constexpr unsigned n = 8 / Bits;  // registers
    __m512i x[n];
    for (unsigned i = 0; i < n; ++i) x[i] = _mm512_load_si512(block + 8 * i);
    exchange_registers<Bits, n, n / 2>(x);
    exchange_lanes<Bits, n, 4>(x);
    for (unsigned i = 0; i < n; ++i) _mm512_store_si512(block + 8 * i, x[i]);
    transpose_blocks::spread_words<V, 64 / Bits>(block, to, stride);
  }

  static void rows_to_words(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words,
                            std::size_t first_word, std::size_t last_word, unsigned bits, std::uint64_t* words,
                            std::size_t stride) {
    avx2::code_transpose.row_tile(rows, n_rows, row_words, first_word, last_word, bits, words, stride);
  }
};

}  // namespace

const TransposeOp code_transpose = transpose_blocks::op<V>;

}  // namespace lowtide::avx512
