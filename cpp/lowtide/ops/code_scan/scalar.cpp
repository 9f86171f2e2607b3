#include "lowtide/ops/code_scan/code_scan.hpp"

namespace lowtide::scalar {
namespace {

void interleave(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::uint8_t* tile) {
  for (std::size_t r = 0; r < kScanRows; ++r) {
    const std::uint64_t* row = rows + (r < n_rows ? r : n_rows - 1) * row_words;
    for (std::size_t b = 0; b < 8 * row_words; ++b)
      tile[b * kScanRows + r] = static_cast<std::uint8_t>(row[b / 8] >> (8 * (b % 8)));
  }
}

void scan(const std::uint8_t* tile, std::size_t n_bytes, const std::uint8_t* tables, std::size_t n_queries,
          std::size_t /*run*/, const std::uint16_t* limits, std::uint64_t* masks, std::uint16_t* sums) {
  for (std::size_t q = 0; q < n_queries; ++q) {
    std::uint16_t total[kScanRows] = {};
    for (std::size_t b = 0; b < n_bytes; ++b) {
      const std::uint8_t* low = tables + (2 * b * n_queries + q) * 16;
      const std::uint8_t* high = low + n_queries * 16;
      for (std::size_t r = 0; r < kScanRows; ++r) {
        const std::uint8_t byte = tile[b * kScanRows + r];
        total[r] = static_cast<std::uint16_t>(total[r] + low[byte & 15] + high[byte >> 4]);
      }
    }
    masks[q] = 0;
    for (std::size_t r = 0; r < kScanRows; ++r) masks[q] |= std::uint64_t{total[r] >= limits[q]} << r;
    if (masks[q] == 0) continue;
    for (std::size_t r = 0; r < kScanRows; ++r) sums[q * kScanRows + r] = total[r];
  }
}

}  // namespace

const ScanOp code_scan = {interleave, scan};

}  // namespace lowtide::scalar
