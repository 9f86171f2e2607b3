// row_scan: integer products of one query with packed rows as they lie in memory. Exact.
//
//   sums[r] = sum over bytes b < 8 row_words, halves h < 2, places p < 4 / bits of
//             tables[p][nibble h of byte b of row r] * weights[h * 4 / bits + p][b]
//
// A nibble is half a byte, the lower half first, and holds 4 / bits levels: tables[p] (16 entries) is the value of its
// p-th. weights: 8 / bits planes of `stride` entries, stride = row_stride(row_words), zeros past the row's bytes, 64-byte
// aligned. rows: n_rows from 1 to kRowScan, row_words words apart, at most 1024 bytes each. bits 1, 2 or 4.
// Overflow limits, which make every level the same: table entries up to 127, weights from -127 to 127.
// sums has room for kRowScan; those past the last row are undefined.
#pragma once

#include "lowtide/layout.hpp"

namespace lowtide {

constexpr std::size_t kRowScan = 64;

constexpr std::size_t row_stride(std::size_t row_words) { return (row_words + 7) / 8 * 64; }

using RowScanFn = void (*)(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, unsigned bits,
                           const std::uint8_t* tables, const std::int8_t* weights, std::int32_t* sums);

namespace scalar {
void row_scan(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, unsigned bits,
              const std::uint8_t* tables, const std::int8_t* weights, std::int32_t* sums);
}
namespace avx2 {
void row_scan(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, unsigned bits,
              const std::uint8_t* tables, const std::int8_t* weights, std::int32_t* sums);
}
namespace avx512 {
void row_scan(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, unsigned bits,
              const std::uint8_t* tables, const std::int8_t* weights, std::int32_t* sums);
}

}  // namespace lowtide
