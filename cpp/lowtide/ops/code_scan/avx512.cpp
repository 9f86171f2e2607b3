// vpshufb is sixteen table entries for 64 rows at once. Binds: the two vector ports, which a look-up and its addition
// share. Up to eight queries use the nibbles of 64 rows together; their sums stay in registers. Bytes of a run are
// added as bytes, then as 16-bit words twice, as they are and shifted down: the second gives the odd rows, and 256
// times it taken off the first the even ones.
// The tile is made by transposes of 16 x 16 bytes, four side by side. Tail: the last 8 bytes of a row are loaded alone.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false alarms of GCC 12 inside its own header
#include <immintrin.h>

#include "lowtide/ops/code_scan/code_scan.hpp"

namespace lowtide::avx512 {
namespace {

inline __m128i load_part(const std::uint8_t* from, bool whole) {
  return whole ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(from))
               : _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
}

// Bytes [b, b + 16) of rows i, i + 16, i + 32 and i + 48.
inline __m512i load_four(const std::uint8_t* const row[64], int i, std::size_t b, bool whole) {
  __m512i x = _mm512_castsi128_si512(load_part(row[i] + b, whole));
  x = _mm512_inserti32x4(x, load_part(row[i + 16] + b, whole), 1);
  x = _mm512_inserti32x4(x, load_part(row[i + 32] + b, whole), 2);
  return _mm512_inserti32x4(x, load_part(row[i + 48] + b, whole), 3);
}

// One round: byte i of the pair (x[j], x[j + 8]) goes next to its partner; four rounds are a transpose.
inline void zip(const __m512i x[16], __m512i out[16]) {
  for (int j = 0; j < 8; ++j) {
    out[2 * j] = _mm512_unpacklo_epi8(x[j], x[j + 8]);
    out[2 * j + 1] = _mm512_unpackhi_epi8(x[j], x[j + 8]);
  }
}

void interleave(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::uint8_t* tile) {
  const std::size_t row_bytes = 8 * row_words;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(rows);
  const std::uint8_t* row[64];
  for (std::size_t i = 0; i < 64; ++i) row[i] = bytes + (i < n_rows ? i : n_rows - 1) * row_bytes;
  for (std::size_t b = 0; b < row_bytes; b += 16) {
    const bool whole = b + 16 <= row_bytes;
    __m512i x[16], y[16];
    for (int i = 0; i < 16; ++i) x[i] = load_four(row, i, b, whole);
    zip(x, y);
    zip(y, x);
    zip(x, y);
    zip(y, x);
    for (std::size_t i = 0; i < (whole ? 16 : 8); ++i) _mm512_store_si512(tile + (b + i) * kScanRows, x[i]);
  }
}

inline __m512i looked_up(const std::uint8_t* table, __m512i nibbles) {
  const __m128i entries = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
  return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(entries), nibbles);
}

inline void store_rows(__m512i even, __m512i odd, std::uint16_t* sums) {
  const __m512i low = _mm512_unpacklo_epi16(even, odd), high = _mm512_unpackhi_epi16(even, odd);
  const __m512i first = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0), last = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
  _mm512_storeu_si512(sums, _mm512_permutex2var_epi64(low, first, high));
  _mm512_storeu_si512(sums + 32, _mm512_permutex2var_epi64(low, last, high));
}

template <int Q>
inline void write_out(const __m512i even[Q], const __m512i odd[Q], const std::uint16_t* limits, std::uint64_t* masks,
                      std::uint16_t* sums) {
  for (int q = 0; q < Q; ++q) {
    const __m512i limit = _mm512_set1_epi16(static_cast<short>(limits[q]));
    const std::uint64_t low = _mm512_cmpge_epu16_mask(even[q], limit), high = _mm512_cmpge_epu16_mask(odd[q], limit);
    masks[q] = _pdep_u64(low, 0x5555555555555555u) | _pdep_u64(high, 0xAAAAAAAAAAAAAAAAu);
    if (masks[q] != 0) store_rows(even[q], odd[q], sums + static_cast<std::size_t>(q) * kScanRows);
  }
}

template <int Q, std::size_t Run>
void scan_queries(const std::uint8_t* tile, std::size_t n_bytes, const std::uint8_t* tables,
                  const std::uint16_t* limits, std::uint64_t* masks, std::uint16_t* sums) {
  const __m512i mask = _mm512_set1_epi8(15);
  __m512i even[Q], odd[Q];
  for (int q = 0; q < Q; ++q) even[q] = odd[q] = _mm512_setzero_si512();
  for (std::size_t b = 0; b < n_bytes; b += Run) {
    const std::size_t end = n_bytes - b < Run ? n_bytes : b + Run;
    __m512i sum[Q];
    for (int q = 0; q < Q; ++q) sum[q] = _mm512_setzero_si512();
    for (std::size_t c = b; c < end; ++c) {
      const __m512i x = _mm512_load_si512(tile + c * kScanRows);
      const __m512i low = _mm512_and_si512(x, mask), high = _mm512_and_si512(_mm512_srli_epi16(x, 4), mask);
      const std::uint8_t* table = tables + c * (32 * Q);
      for (int q = 0; q < Q; ++q) {
        sum[q] = _mm512_add_epi8(sum[q], looked_up(table + 16 * q, low));
        sum[q] = _mm512_add_epi8(sum[q], looked_up(table + 16 * (Q + q), high));
      }
    }
    for (int q = 0; q < Q; ++q) {
      even[q] = _mm512_add_epi16(even[q], sum[q]);
      odd[q] = _mm512_add_epi16(odd[q], _mm512_srli_epi16(sum[q], 8));
    }
  }
  for (int q = 0; q < Q; ++q) even[q] = _mm512_sub_epi16(even[q], _mm512_slli_epi16(odd[q], 8));
  write_out<Q>(even, odd, limits, masks, sums);
}

template <std::size_t Run>
void scan_runs(const std::uint8_t* tile, std::size_t n_bytes, const std::uint8_t* tables, std::size_t n_queries,
               const std::uint16_t* limits, std::uint64_t* masks, std::uint16_t* sums) {
  if (n_queries == 8) return scan_queries<8, Run>(tile, n_bytes, tables, limits, masks, sums);
  if (n_queries == 4) return scan_queries<4, Run>(tile, n_bytes, tables, limits, masks, sums);
  if (n_queries == 2) return scan_queries<2, Run>(tile, n_bytes, tables, limits, masks, sums);
  scan_queries<1, Run>(tile, n_bytes, tables, limits, masks, sums);
}

void scan(const std::uint8_t* tile, std::size_t n_bytes, const std::uint8_t* tables, std::size_t n_queries,
          std::size_t run, const std::uint16_t* limits, std::uint64_t* masks, std::uint16_t* sums) {
  const auto level = run == kScanFine ? scan_runs<kScanFine> : scan_runs<kScanCounts>;
  level(tile, n_bytes, tables, n_queries, limits, masks, sums);
}

}  // namespace

const ScanOp code_scan = {interleave, scan};

}  // namespace lowtide::avx512
