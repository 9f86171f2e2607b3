// Search over packed rows: code_scan, row_scan.
#include "cases.hpp"
#include "inputs.hpp"

namespace lowtide::opcount {
namespace {

constexpr std::size_t row_words = 16, n_bytes = 8 * row_words;

void add_interleave(Cases& cases) {
  cases.push_back({"code_scan.interleave", kScanRows * n_bytes, "byte", [](const Ops& ops) {
                     const auto rows = words(kScanRows * row_words, 1);
                     const auto tile = zeros<std::uint8_t>(kScanRows * n_bytes);
                     return [=, &ops] { ops.code_scan.interleave(rows.get(), kScanRows, row_words, tile.get()); };
                   }});
}

// No row reaches the limits: what a search spends on nearly all rows.
void add_scan(Cases& cases, const char* name, std::size_t n_queries, std::size_t run) {
  cases.push_back({name, n_queries * kScanRows * 2 * n_bytes, "look-up", [=](const Ops& ops) {
                     const std::uint32_t most = run == kScanFine ? 63 : 7;  // runs stay at or below 255
                     const auto tile = integers<std::uint8_t>(kScanRows * n_bytes, 256, 2);
                     const auto tables = integers<std::uint8_t>(2 * n_bytes * n_queries * 16, most + 1, 3);
                     const auto limits = filled<std::uint16_t>(n_queries, [] { return std::uint16_t{65535}; });
                     const auto masks = zeros<std::uint64_t>(n_queries);
                     const auto sums = zeros<std::uint16_t>(n_queries * kScanRows);
                     return [=, &ops] {
                       ops.code_scan.scan(tile.get(), n_bytes, tables.get(), n_queries, run, limits.get(), masks.get(),
                                          sums.get());
                     };
                   }});
}

void add_row_scan(Cases& cases) {
  constexpr unsigned bits = 2;
  cases.push_back({"row_scan 2 bits", kRowScan * n_bytes * 8 / bits, "product", [](const Ops& ops) {
                     const auto rows = words(kRowScan * row_words, 4);
                     const auto tables = integers<std::uint8_t>(16 * 4 / bits, 128, 5);
                     const auto weights = integers<std::int8_t>(8 / bits * row_stride(row_words), 128, 6);
                     const auto sums = zeros<std::int32_t>(kRowScan);
                     return [=, &ops] {
                       ops.row_scan(rows.get(), kRowScan, row_words, bits, tables.get(), weights.get(), sums.get());
                     };
                   }});
}

}  // namespace

void add_scans(Cases& cases) {
  add_interleave(cases);
  add_scan(cases, "code_scan.scan 1 query", 1, kScanFine);
  add_scan(cases, "code_scan.scan 8 queries", 8, kScanFine);
  add_scan(cases, "code_scan.scan 8 queries, counts", 8, kScanCounts);
  add_row_scan(cases);
}

}  // namespace lowtide::opcount
