// vpshufb makes values of nibbles, vpdpbusd multiplies them by the weights and adds. Binds: memory, or at 1 bit these two
// on the vector ports. Sixteen rows at a time share the weights, and their sums are added across lanes together. Tail:
// up to 32 bytes of two rows side by side, more by a masked load.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false alarms of GCC 12 inside its own header
#include <immintrin.h>

#include "lowtide/ops/row_scan/row_scan.hpp"

namespace lowtide::avx512 {
namespace {

constexpr int kRows = 16;
// Bytes that are asked for before they are read: rows that are read in two passes, of 64 bytes and of the rest, are no
// sequence that every processor sees.
constexpr std::size_t kAhead = 4096;

// What one register of packed bytes adds to the sum of its row.
template <int Places>
inline __m512i add_products(__m512i sum, __m512i x, const __m512i (&table)[Places],
                            const __m512i (&weight)[2 * Places]) {
  const __m512i mask = _mm512_set1_epi8(15);
  const __m512i low = _mm512_and_si512(x, mask), high = _mm512_and_si512(_mm512_srli_epi16(x, 4), mask);
#pragma GCC unroll 4
  for (int p = 0; p < Places; ++p) {
    sum = _mm512_dpbusd_epi32(sum, _mm512_shuffle_epi8(table[p], low), weight[p]);
    sum = _mm512_dpbusd_epi32(sum, _mm512_shuffle_epi8(table[p], high), weight[Places + p]);
  }
  return sum;
}

// The sums of 16 registers of four-byte lanes, in order.
inline __m512i across(const __m512i (&sum)[kRows]) {
  __m512i four[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512i* s = sum + 4 * i;
    const __m512i a = _mm512_add_epi32(_mm512_unpacklo_epi32(s[0], s[1]), _mm512_unpackhi_epi32(s[0], s[1]));
    const __m512i b = _mm512_add_epi32(_mm512_unpacklo_epi32(s[2], s[3]), _mm512_unpackhi_epi32(s[2], s[3]));
    four[i] = _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
  }
  const auto halves = [](__m512i a, __m512i b) {
    return _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xDD));
  };
  return halves(halves(four[0], four[1]), halves(four[2], four[3]));
}

template <int Places>
void scan(const std::uint8_t* rows, std::size_t n_rows, std::size_t row_bytes, std::size_t stride,
          const std::uint8_t* tables, const std::int8_t* weights, std::int32_t* sums) {
  const std::size_t whole = row_bytes / 64 * 64, left = row_bytes - whole;
  __m512i table[Places], weight[2 * Places];
  for (int p = 0; p < Places; ++p)
    table[p] = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(tables + 16 * p)));
  for (std::size_t r = 0; r < n_rows; r += kRows) {
    const std::uint8_t* row[kRows];
    for (std::size_t i = 0; i < kRows; ++i) row[i] = rows + (r + i < n_rows ? r + i : n_rows - 1) * row_bytes;
    const auto next = reinterpret_cast<std::uintptr_t>(row[0]) + kAhead;
    for (std::size_t b = 0; b < kRows * row_bytes; b += 64)
      _mm_prefetch(reinterpret_cast<const char*>(next + b), _MM_HINT_T0);
    __m512i sum[kRows];
    if (left > 0 && left <= 32) {
      const __mmask32 some = static_cast<__mmask32>((std::uint64_t{1} << left) - 1);
#pragma GCC unroll 8
      for (int p = 0; p < 2 * Places; ++p)
        weight[p] = _mm512_broadcast_i64x4(_mm256_load_si256(
            reinterpret_cast<const __m256i*>(weights + static_cast<std::size_t>(p) * stride + whole)));
#pragma GCC unroll 8
      for (int i = 0; i < kRows; i += 2) {
        const __m256i a = _mm256_maskz_loadu_epi8(some, row[i] + whole);
        const __m256i b = _mm256_maskz_loadu_epi8(some, row[i + 1] + whole);
        const __m512i both = _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
        const __m512i two = add_products<Places>(_mm512_setzero_si512(), both, table, weight);
        sum[i] = _mm512_zextsi256_si512(_mm512_castsi512_si256(two));
        sum[i + 1] = _mm512_zextsi256_si512(_mm512_extracti64x4_epi64(two, 1));
      }
    } else {
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) sum[i] = _mm512_setzero_si512();
    }
    for (std::size_t b = 0; b < (left > 32 ? row_bytes : whole); b += 64) {
      const __mmask64 some = b < whole ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
#pragma GCC unroll 8
      for (int p = 0; p < 2 * Places; ++p)
        weight[p] = _mm512_load_si512(weights + static_cast<std::size_t>(p) * stride + b);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i)
        sum[i] = add_products<Places>(sum[i], _mm512_maskz_loadu_epi8(some, row[i] + b), table, weight);
    }
    _mm512_storeu_si512(sums + r, across(sum));
  }
}

}  // namespace

void row_scan(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, unsigned bits,
              const std::uint8_t* tables, const std::int8_t* weights, std::int32_t* sums) {
  const auto of_bits = bits == 1 ? scan<4> : bits == 2 ? scan<2> : scan<1>;
  of_bits(reinterpret_cast<const std::uint8_t*>(rows), n_rows, 8 * row_words, row_stride(row_words), tables, weights,
          sums);
}

}  // namespace lowtide::avx512
