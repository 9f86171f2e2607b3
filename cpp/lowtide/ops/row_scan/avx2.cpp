// vpshufb makes values of nibbles, vpmaddubsw multiplies them by the weights and adds pairs. Binds: at 2 bits the three
// vector ports, 16 instructions for 128 levels. Where the values are small enough, all products of a register are added
// in 16 bits before they are widened. Eight rows at a time share the weights, and their sums are added across lanes
// together. Tail: a masked load, in words of 8 bytes.
#include <immintrin.h>

#include "lowtide/ops/row_scan/row_scan.hpp"

namespace lowtide::avx2 {
namespace {

constexpr int kRows = 8;

inline __m256i widened(__m256i words) { return _mm256_madd_epi16(words, _mm256_set1_epi16(1)); }

// What one register of packed bytes adds to the sum of its row; `Small` when its products fit 16 bits together.
template <int Places, bool Small>
inline __m256i products(__m256i x, const __m256i (&table)[Places], const std::int8_t* weights, std::size_t stride) {
  const __m256i mask = _mm256_set1_epi8(15);
  const __m256i halves[2] = {_mm256_and_si256(x, mask), _mm256_and_si256(_mm256_srli_epi16(x, 4), mask)};
  __m256i sum = _mm256_setzero_si256();
#pragma GCC unroll 8
  for (int p = 0; p < 2 * Places; ++p) {
    const auto* plane = reinterpret_cast<const __m256i*>(weights + static_cast<std::size_t>(p) * stride);
    const __m256i value = _mm256_shuffle_epi8(table[p % Places], halves[p / Places]);
    const __m256i pairs = _mm256_maddubs_epi16(value, _mm256_load_si256(plane));
    sum = Small ? _mm256_add_epi16(sum, pairs) : _mm256_add_epi32(sum, widened(pairs));
  }
  return Small ? widened(sum) : sum;
}

// The sums of 8 registers of four-byte lanes, in order.
inline __m256i across(const __m256i (&sum)[kRows]) {
  __m256i four[2];
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    const __m256i* s = sum + 4 * i;
    four[i] = _mm256_hadd_epi32(_mm256_hadd_epi32(s[0], s[1]), _mm256_hadd_epi32(s[2], s[3]));
  }
  return _mm256_add_epi32(_mm256_permute2x128_si256(four[0], four[1], 0x20),
                          _mm256_permute2x128_si256(four[0], four[1], 0x31));
}

template <int Places, bool Small>
void scan(const std::uint8_t* rows, std::size_t n_rows, std::size_t row_bytes, std::size_t stride,
          const std::uint8_t* tables, const std::int8_t* weights, std::int32_t* sums) {
  const std::size_t whole = row_bytes / 32 * 32;
  const auto left = static_cast<long long>(row_bytes - whole);
  const __m256i some = _mm256_cmpgt_epi64(_mm256_set1_epi64x(left), _mm256_set_epi64x(24, 16, 8, 0));
  __m256i table[Places];
  for (int p = 0; p < Places; ++p)
    table[p] = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(tables + 16 * p)));
  for (std::size_t r = 0; r < n_rows; r += kRows) {
    const std::uint8_t* row[kRows];
    for (std::size_t i = 0; i < kRows; ++i) row[i] = rows + (r + i < n_rows ? r + i : n_rows - 1) * row_bytes;
    __m256i sum[kRows];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      sum[i] = _mm256_setzero_si256();
      for (std::size_t b = 0; b < whole; b += 32) {
        const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row[i] + b));
        sum[i] = _mm256_add_epi32(sum[i], products<Places, Small>(x, table, weights + b, stride));
      }
      if (left > 0) {
        const __m256i x = _mm256_maskload_epi64(reinterpret_cast<const long long*>(row[i] + whole), some);
        sum[i] = _mm256_add_epi32(sum[i], products<Places, Small>(x, table, weights + whole, stride));
      }
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + r), across(sum));
  }
}

template <int Places>
void scan_of(const std::uint8_t* rows, std::size_t n_rows, std::size_t row_bytes, std::size_t stride,
             const std::uint8_t* tables, const std::int8_t* weights, std::int32_t* sums) {
  int largest = 0;
  for (int i = 0; i < 16 * Places; ++i) largest = tables[i] > largest ? tables[i] : largest;
  const bool is_small = 2 * Places * 2 * 127 * largest <= 32767;
  (is_small ? scan<Places, true> : scan<Places, false>)(rows, n_rows, row_bytes, stride, tables, weights, sums);
}

}  // namespace

void row_scan(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, unsigned bits,
              const std::uint8_t* tables, const std::int8_t* weights, std::int32_t* sums) {
  const auto of_bits = bits == 1 ? scan_of<4> : bits == 2 ? scan_of<2> : scan_of<1>;
  of_bits(reinterpret_cast<const std::uint8_t*>(rows), n_rows, 8 * row_words, row_stride(row_words), tables, weights,
          sums);
}

}  // namespace lowtide::avx2
