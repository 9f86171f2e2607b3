// The tile and the scan of code_scan over a register type V, written once for all instruction sets. V lives in an unnamed
// namespace of the including file, so every instance is that file's own: beside what byte_columns.hpp needs it has
//   low_nibbles, high_nibbles, table, look_up   bytes looked up in sixteen entries
//   add_bytes, add_words, odd_bytes, evened     sums of bytes, sums of 16-bit words, and what takes the one to the other
//   reached(even, odd, limit)                   a bit for each row whose sum reaches the limit
//   store_rows(even, odd, sums)                 sums of V::bytes rows in order
// Bytes of a run are added as bytes, then as 16-bit words twice, as they are and shifted down: the second gives the odd
// rows, and 256 times it taken off the first the even ones.
#pragma once

#include "lowtide/ops/code_scan/byte_columns.hpp"
#include "lowtide/ops/code_scan/code_scan.hpp"

namespace lowtide::scan_look_ups {

template <class V>
struct LookUps {
  using Reg = typename V::Reg;
  static constexpr int kParts = static_cast<int>(kScanRows / V::bytes);

  static void interleave(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::uint8_t* tile) {
    const std::size_t row_bytes = 8 * row_words;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(rows);
    for (std::size_t r = 0; r < kScanRows; r += V::bytes) {
      const std::uint8_t* row[V::bytes];
      for (std::size_t i = 0; i < V::bytes; ++i) row[i] = bytes + (r + i < n_rows ? r + i : n_rows - 1) * row_bytes;
      byte_columns::each_column<V>(row, row_bytes,
                                   [=](std::size_t b, Reg column) { V::store(tile + b * kScanRows + r, column); });
    }
  }

  static void scan(const std::uint8_t* tile, std::size_t n_bytes, const std::uint8_t* tables, std::size_t n_queries,
                   std::size_t run, const std::uint16_t* limits, std::uint64_t* masks, std::uint16_t* sums) {
    const auto level = run == kScanFine ? scan_some<V::queries, kScanFine> : scan_some<V::queries, kScanCounts>;
    level(tile, n_bytes, tables, n_queries, limits, masks, sums);
  }

 private:
  // Q queries at a time, or as many as there are.
  template <int Q, std::size_t Run>
  static void scan_some(const std::uint8_t* tile, std::size_t n_bytes, const std::uint8_t* tables,
                        std::size_t n_queries, const std::uint16_t* limits, std::uint64_t* masks, std::uint16_t* sums) {
    if constexpr (Q > 1) {
      if (n_queries < Q) return scan_some<Q / 2, Run>(tile, n_bytes, tables, n_queries, limits, masks, sums);
    }
    for (std::size_t q = 0; q < n_queries; q += Q)
      scan_queries<Q, Run>(tile, n_bytes, tables + 16 * q, 16 * n_queries, limits + q, masks + q, sums + q * kScanRows);
  }

  template <int Q, std::size_t Run>
  static void scan_queries(const std::uint8_t* tile, std::size_t n_bytes, const std::uint8_t* tables,
                           std::size_t stride, const std::uint16_t* limits, std::uint64_t* masks, std::uint16_t* sums) {
    Reg even[kParts][Q], odd[kParts][Q];
    for (int part = 0; part < kParts; ++part)
      sum_rows<Q, Run>(tile + part * V::bytes, n_bytes, tables, stride, even[part], odd[part]);
#pragma GCC unroll 8
    for (int q = 0; q < Q; ++q) {
      masks[q] = 0;
      for (int part = 0; part < kParts; ++part)
        masks[q] |= std::uint64_t{V::reached(even[part][q], odd[part][q], limits[q])} << (part * V::bytes % 64);
      if (masks[q] == 0) continue;
      for (int part = 0; part < kParts; ++part)
        V::store_rows(even[part][q], odd[part][q], sums + static_cast<std::size_t>(q) * kScanRows + part * V::bytes);
    }
  }

  // Sums of V::bytes rows: even rows in even[q], odd rows in odd[q].
  template <int Q, std::size_t Run>
  static void sum_rows(const std::uint8_t* tile, std::size_t n_bytes, const std::uint8_t* tables, std::size_t stride,
                       Reg (&even)[Q], Reg (&odd)[Q]) {
#pragma GCC unroll 8
    for (int q = 0; q < Q; ++q) even[q] = odd[q] = V::zero();
    for (std::size_t b = 0; b < n_bytes; b += Run) {
      const std::size_t end = n_bytes - b < Run ? n_bytes : b + Run;
      Reg sum[Q];
#pragma GCC unroll 8
      for (int q = 0; q < Q; ++q) sum[q] = V::zero();
      for (std::size_t c = b; c < end; ++c) {
        const Reg x = V::load(tile + c * kScanRows), low = V::low_nibbles(x), high = V::high_nibbles(x);
        const std::uint8_t* table = tables + 2 * c * stride;
#pragma GCC unroll 8
        for (int q = 0; q < Q; ++q) {
          sum[q] = V::add_bytes(sum[q], V::look_up(V::table(table + 16 * q), low));
          sum[q] = V::add_bytes(sum[q], V::look_up(V::table(table + stride + 16 * q), high));
        }
      }
#pragma GCC unroll 8
      for (int q = 0; q < Q; ++q) {
        even[q] = V::add_words(even[q], sum[q]);
        odd[q] = V::add_words(odd[q], V::odd_bytes(sum[q]));
      }
    }
#pragma GCC unroll 8
    for (int q = 0; q < Q; ++q) even[q] = V::evened(even[q], odd[q]);
  }
};

}  // namespace lowtide::scan_look_ups
