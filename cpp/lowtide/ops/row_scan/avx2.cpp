// vpshufb makes values of nibbles, vpmaddubsw and vpmaddwd multiply them by the weights and add. Binds: the vector ports.
// Four rows at a time share the weights, and their sums are added across lanes together. Tail: a masked load.
#include <immintrin.h>

#include "lowtide/ops/row_scan/row_scan.hpp"

namespace lowtide::avx2 {
namespace {

constexpr int kRows = 4;

template <int Places>
void scan(const std::uint8_t* rows, std::size_t n_rows, std::size_t row_bytes, std::size_t stride,
          const std::uint8_t* tables, const std::int8_t* weights, std::int32_t* sums) {
  const __m256i mask = _mm256_set1_epi8(15), ones = _mm256_set1_epi16(1);
  __m256i table[Places];
  for (int p = 0; p < Places; ++p)
    table[p] = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(tables + 16 * p)));
  const auto weight = [=](int plane, std::size_t b) {
    return _mm256_load_si256(reinterpret_cast<const __m256i*>(weights + static_cast<std::size_t>(plane) * stride + b));
  };
  for (std::size_t r = 0; r < n_rows; r += kRows) {
    const std::uint8_t* row[kRows];
    for (std::size_t i = 0; i < kRows; ++i) row[i] = rows + (r + i < n_rows ? r + i : n_rows - 1) * row_bytes;
    __m256i sum[kRows];
    for (int i = 0; i < kRows; ++i) sum[i] = _mm256_setzero_si256();
    for (std::size_t b = 0; b < row_bytes; b += 32) {
      const auto words = static_cast<long long>((row_bytes - b) / 8);
      const __m256i some = _mm256_cmpgt_epi64(_mm256_set1_epi64x(words), _mm256_set_epi64x(3, 2, 1, 0));
      __m256i low[kRows], high[kRows];
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) {
        const __m256i x = _mm256_maskload_epi64(reinterpret_cast<const long long*>(row[i] + b), some);
        low[i] = _mm256_and_si256(x, mask);
        high[i] = _mm256_and_si256(_mm256_srli_epi16(x, 4), mask);
      }
#pragma GCC unroll 4
      for (int p = 0; p < Places; ++p) {
        const __m256i first = weight(p, b), second = weight(Places + p, b);
#pragma GCC unroll 4
        for (int i = 0; i < kRows; ++i) {
          const __m256i of_low = _mm256_maddubs_epi16(_mm256_shuffle_epi8(table[p], low[i]), first);
          const __m256i of_high = _mm256_maddubs_epi16(_mm256_shuffle_epi8(table[p], high[i]), second);
          sum[i] = _mm256_add_epi32(sum[i], _mm256_madd_epi16(of_low, ones));
          sum[i] = _mm256_add_epi32(sum[i], _mm256_madd_epi16(of_high, ones));
        }
      }
    }
    const __m256i four = _mm256_hadd_epi32(_mm256_hadd_epi32(sum[0], sum[1]), _mm256_hadd_epi32(sum[2], sum[3]));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(sums + r),
                     _mm_add_epi32(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1)));
  }
}

}  // namespace

void row_scan(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, unsigned bits,
              const std::uint8_t* tables, const std::int8_t* weights, std::int32_t* sums) {
  const auto of_bits = bits == 1 ? scan<4> : bits == 2 ? scan<2> : scan<1>;
  of_bits(reinterpret_cast<const std::uint8_t*>(rows), n_rows, 8 * row_words, row_stride(row_words), tables, weights,
          sums);
}

}  // namespace lowtide::avx2
