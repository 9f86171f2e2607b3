// code_scan: sums of byte tables over the nibbles of 64 packed rows, and which of them reach a limit. Exact.
//
//   interleave: tile[b][r] = byte b of row r, b < 8 row_words, r < kScanRows; rows past the last one repeat it
//   scan:       sums[q][r] = sum over g < 2 n_bytes of tables[g][q][nibble g of row r]
//               masks[q]   = the set of r with sums[q][r] >= limits[q], row r in bit r
//
// A nibble is half a byte, the lower half first. n_queries is 1, 2, 4 or 8: the nibbles are taken out of the tile once
// for all of them. sums (n_queries, kScanRows) is written for the queries whose mask is not empty and left alone else.
// Overflow limits, which make every level the same: a row's sum over `run` bytes that start at a multiple of run is at
// most 255, its whole sum at most 65535. run is kScanFine or kScanCounts.
// tile: 64-byte aligned, kScanRows * 8 row_words bytes. rows: n_rows from 1 to kScanRows, row_words words apart.
#pragma once

#include "lowtide/layout.hpp"

namespace lowtide {

constexpr std::size_t kScanRows = 64;
constexpr std::size_t kScanQueries = 8;
constexpr std::size_t kScanFine = 2;     // four nibbles share the 255: 64 steps a table on average
constexpr std::size_t kScanCounts = 16;  // 32 nibbles of at most 4 bits each

struct ScanOp {
  void (*interleave)(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::uint8_t* tile);
  void (*scan)(const std::uint8_t* tile, std::size_t n_bytes, const std::uint8_t* tables, std::size_t n_queries,
               std::size_t run, const std::uint16_t* limits, std::uint64_t* masks, std::uint16_t* sums);
};

namespace scalar {
extern const ScanOp code_scan;
}
namespace avx2 {
extern const ScanOp code_scan;
}
namespace avx512 {
extern const ScanOp code_scan;
}
namespace neon {
extern const ScanOp code_scan;
}

}  // namespace lowtide
