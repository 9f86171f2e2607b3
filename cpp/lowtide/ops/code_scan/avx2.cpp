// vpshufb is sixteen table entries for 32 rows at once. Binds: the shuffle, one or two a cycle. Two queries at a time
// share the nibbles of 32 rows. Bytes of a run are added as bytes, then as 16-bit words twice, as they are and shifted
// down: the second gives the odd rows, and 256 times it taken off the first the even ones.
// The tile is made by transposes of 16 x 16 bytes, two side by side. Tail: the last 8 bytes of a row are loaded alone.
#include <immintrin.h>

#include "lowtide/ops/code_scan/code_scan.hpp"

namespace lowtide::avx2 {
namespace {

inline __m128i load_part(const std::uint8_t* from, bool whole) {
  return whole ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(from))
               : _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
}

// One round: byte i of the pair (x[j], x[j + 8]) goes next to its partner; four rounds are a transpose.
inline void zip(const __m256i x[16], __m256i out[16]) {
  for (int j = 0; j < 8; ++j) {
    out[2 * j] = _mm256_unpacklo_epi8(x[j], x[j + 8]);
    out[2 * j + 1] = _mm256_unpackhi_epi8(x[j], x[j + 8]);
  }
}

void interleave(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::uint8_t* tile) {
  const std::size_t row_bytes = 8 * row_words;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(rows);
  for (std::size_t r = 0; r < kScanRows; r += 32) {
    const std::uint8_t* row[32];
    for (std::size_t i = 0; i < 32; ++i) row[i] = bytes + (r + i < n_rows ? r + i : n_rows - 1) * row_bytes;
    for (std::size_t b = 0; b < row_bytes; b += 16) {
      const bool whole = b + 16 <= row_bytes;
      __m256i x[16], y[16];
      for (int i = 0; i < 16; ++i)
        x[i] = _mm256_set_m128i(load_part(row[i + 16] + b, whole), load_part(row[i] + b, whole));
      zip(x, y);
      zip(y, x);
      zip(x, y);
      zip(y, x);
      for (std::size_t i = 0; i < (whole ? 16 : 8); ++i)
        _mm256_store_si256(reinterpret_cast<__m256i*>(tile + (b + i) * kScanRows + r), x[i]);
    }
  }
}

inline __m256i looked_up(const std::uint8_t* table, __m256i nibbles) {
  const __m128i entries = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
  return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(entries), nibbles);
}

// Sums of 32 rows: even rows in even[p], odd rows in odd[p], 16 words each.
template <int P, std::size_t Run>
inline void sum_rows(const std::uint8_t* tile, std::size_t n_bytes, const std::uint8_t* tables, std::size_t stride,
                     __m256i even[P], __m256i odd[P]) {
  const __m256i mask = _mm256_set1_epi8(15);
  for (int p = 0; p < P; ++p) even[p] = odd[p] = _mm256_setzero_si256();
  for (std::size_t b = 0; b < n_bytes; b += Run) {
    const std::size_t end = n_bytes - b < Run ? n_bytes : b + Run;
    __m256i sum[P];
    for (int p = 0; p < P; ++p) sum[p] = _mm256_setzero_si256();
    for (std::size_t c = b; c < end; ++c) {
      const __m256i x = _mm256_load_si256(reinterpret_cast<const __m256i*>(tile + c * kScanRows));
      const __m256i low = _mm256_and_si256(x, mask), high = _mm256_and_si256(_mm256_srli_epi16(x, 4), mask);
      const std::uint8_t* table = tables + 2 * c * stride;
      for (int p = 0; p < P; ++p) {
        sum[p] = _mm256_add_epi8(sum[p], looked_up(table + 16 * p, low));
        sum[p] = _mm256_add_epi8(sum[p], looked_up(table + stride + 16 * p, high));
      }
    }
    for (int p = 0; p < P; ++p) {
      even[p] = _mm256_add_epi16(even[p], sum[p]);
      odd[p] = _mm256_add_epi16(odd[p], _mm256_srli_epi16(sum[p], 8));
    }
  }
  for (int p = 0; p < P; ++p) even[p] = _mm256_sub_epi16(even[p], _mm256_slli_epi16(odd[p], 8));
}

// Two bits for each word that reaches the limit.
inline std::uint32_t reached(__m256i sums, __m256i limit) {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi16(_mm256_max_epu16(sums, limit), sums)));
}

inline void store_rows(__m256i even, __m256i odd, std::uint16_t* sums) {
  const __m256i low = _mm256_unpacklo_epi16(even, odd), high = _mm256_unpackhi_epi16(even, odd);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums), _mm256_permute2x128_si256(low, high, 0x20));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(sums + 16), _mm256_permute2x128_si256(low, high, 0x31));
}

template <int P, std::size_t Run>
void scan_queries(const std::uint8_t* tile, std::size_t n_bytes, const std::uint8_t* tables, std::size_t stride,
                  const std::uint16_t* limits, std::uint64_t* masks, std::uint16_t* sums) {
  __m256i even[2][P], odd[2][P];
  for (int half = 0; half < 2; ++half)
    sum_rows<P, Run>(tile + 32 * half, n_bytes, tables, stride, even[half], odd[half]);
  for (int p = 0; p < P; ++p) {
    const __m256i limit = _mm256_set1_epi16(static_cast<short>(limits[p]));
    std::uint64_t half_masks[2];
    for (int half = 0; half < 2; ++half)
      half_masks[half] = (reached(even[half][p], limit) & 0x55555555u) | (reached(odd[half][p], limit) & 0xAAAAAAAAu);
    masks[p] = half_masks[0] | half_masks[1] << 32;
    if (masks[p] == 0) continue;
    for (int half = 0; half < 2; ++half)
      store_rows(even[half][p], odd[half][p], sums + static_cast<std::size_t>(p) * kScanRows + 32 * half);
  }
}

template <std::size_t Run>
void scan_runs(const std::uint8_t* tile, std::size_t n_bytes, const std::uint8_t* tables, std::size_t n_queries,
               const std::uint16_t* limits, std::uint64_t* masks, std::uint16_t* sums) {
  const std::size_t stride = 16 * n_queries;
  if (n_queries == 1) return scan_queries<1, Run>(tile, n_bytes, tables, stride, limits, masks, sums);
  for (std::size_t q = 0; q < n_queries; q += 2)
    scan_queries<2, Run>(tile, n_bytes, tables + 16 * q, stride, limits + q, masks + q, sums + q * kScanRows);
}

void scan(const std::uint8_t* tile, std::size_t n_bytes, const std::uint8_t* tables, std::size_t n_queries,
          std::size_t run, const std::uint16_t* limits, std::uint64_t* masks, std::uint16_t* sums) {
  const auto level = run == kScanFine ? scan_runs<kScanFine> : scan_runs<kScanCounts>;
  level(tile, n_bytes, tables, n_queries, limits, masks, sums);
}

}  // namespace

const ScanOp code_scan = {interleave, scan};

}  // namespace lowtide::avx2
