#include "lowtide/code_top_k.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <vector>

#include "lowtide/best.hpp"
#include "lowtide/buffer.hpp"
#include "lowtide/cancel.hpp"
#include "lowtide/layout.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/parallel.hpp"
#include "lowtide/scan_queries.hpp"

namespace lowtide {
namespace {

constexpr std::size_t kChunk = 64;                   // queries that share one reading of the rows
constexpr std::size_t kKept = std::size_t{1} << 22;  // scored rows kept at a time by all queries of a chunk
constexpr std::size_t kTileBytes = 1 << 17;  // interleaved rows, which stay in L2 while the groups of queries pass
constexpr std::size_t kGrainRows = 2048;

// One thread's pass over some rows: tiles and what the queries keep.
template <typename Queries>
class Scan {
 public:
  Scan(const CodeMatrix& codes, const Queries& queries, std::vector<Best>& best)
      : rows_(codes.rows),
        row_words_(words_per_row(codes.n_levels, codes.bits)),
        queries_(queries),
        best_(best),
        limits_(best.size(), 0),
        n_tiles_(std::max<std::size_t>(1, kTileBytes / tile_bytes())),
        tiles_(make_buffer<std::uint8_t>(n_tiles_ * tile_bytes())) {}

  // Rows [begin, end) for groups [first, last).
  void pass(std::size_t begin, std::size_t end, std::size_t first, std::size_t last) {
    for (std::size_t row = begin; row < end; row += n_tiles_ * kScanRows) {
      const std::size_t stop = std::min(end, row + n_tiles_ * kScanRows);
      for (std::size_t i = row; i < stop; i += kScanRows)
        ops().code_scan.interleave(rows_ + i * row_words_, std::min(kScanRows, stop - i), row_words_, tile(i - row));
      for (std::size_t g = first; g < last; ++g) {
        poll();
        for (std::size_t i = row; i < stop; i += kScanRows)
          scan_tile(queries_.bytes().groups()[g], tile(i - row), i, std::min(kScanRows, stop - i));
      }
    }
  }

 private:
  std::size_t tile_bytes() const { return kScanRows * 8 * row_words_; }
  std::uint8_t* tile(std::size_t row) { return tiles_.get() + row / kScanRows * tile_bytes(); }

  void scan_tile(const QueryGroup& group, const std::uint8_t* tile, std::size_t row, std::size_t n_rows) {
    std::uint64_t masks[kScanQueries];
    std::uint16_t sums[kScanQueries * kScanRows];
    ops().code_scan.scan(tile, queries_.n_bytes(), queries_.bytes().of(group), group.count, queries_.run(),
                         limits_.data() + group.first, masks, sums);
    const std::uint64_t present = n_rows == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n_rows) - 1;
    for (std::size_t q = 0; q < group.count; ++q)
      if (masks[q] & present) take(group.first + q, masks[q] & present, sums + q * kScanRows, row);
  }

  void take(std::size_t q, std::uint64_t mask, const std::uint16_t* sums, std::size_t row) {
    for (; mask != 0; mask &= mask - 1) {
      const auto r = static_cast<std::size_t>(std::countr_zero(mask));
      if (sums[r] < limits_[q]) continue;  // the limit has risen within the tile
      const float score = queries_.score(q, rows_ + (row + r) * row_words_, sums[r]);
      if (best_[q].push({score, static_cast<std::int64_t>(row + r)}) && best_[q].full())
        limits_[q] = queries_.limit(q, best_[q].worst());
    }
  }

  const std::uint64_t* rows_;
  std::size_t row_words_;
  const Queries& queries_;
  std::vector<Best>& best_;
  std::vector<std::uint16_t> limits_;
  std::size_t n_tiles_;
  Buffer<std::uint8_t> tiles_;
};

// Threads share the rows when there are many, else the queries.
template <typename Queries>
std::vector<Best> search(const CodeMatrix& codes, const Queries& queries, std::size_t n_queries, std::size_t k) {
  std::vector<Best> best(n_queries, Best(k));
  const std::size_t n_groups = queries.bytes().groups().size();
  if (codes.n_rows < 2 * kGrainRows) {
    parallel_for(n_groups, 1, [&](std::size_t first, std::size_t last) {
      Scan<Queries>(codes, queries, best).pass(0, codes.n_rows, first, last);
    });
    return best;
  }
  std::mutex merging;
  parallel_for(codes.n_rows, kGrainRows, [&](std::size_t begin, std::size_t end) {
    std::vector<Best> own(n_queries, Best(k));
    Scan<Queries>(codes, queries, own).pass(begin, end, 0, n_groups);
    const std::lock_guard<std::mutex> lock(merging);
    for (std::size_t q = 0; q < n_queries; ++q)
      polled_blocks(0, own[q].rows().size(), Best::block, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) best[q].push(own[q].rows()[i]);
      });
  });
  return best;
}

void write(std::vector<Best>& best, std::size_t k, float sign, std::int64_t* indices, float* scores) {
  for (std::size_t q = 0; q < best.size(); ++q) {
    const auto& rows = best[q].sorted();
    for (std::size_t i = 0; i < k; ++i) {
      indices[q * k + i] = rows[i].index;
      scores[q * k + i] = sign * rows[i].score + 0.0f;  // no negative zeros
    }
  }
}

std::size_t chunk_of(std::size_t k) { return std::clamp<std::size_t>(kKept / k, 1, kChunk); }

}  // namespace

void code_top_k(const CodeMatrix& codes, const double* Q, std::size_t n_queries, std::size_t k, bool largest,
                std::int64_t* indices, float* scores) {
  const float sign = largest ? 1.0f : -1.0f;
  const std::size_t n_features = codes.n_levels * codes.width;
  for (std::size_t first = 0; first < n_queries; first += chunk_of(k)) {
    const std::size_t count = std::min(chunk_of(k), n_queries - first);
    const FloatQueries queries(codes, Q + first * n_features, count, sign);
    auto best = search(codes, queries, count, k);
    write(best, k, sign, indices + first * k, scores + first * k);
  }
}

void code_top_k(const CodeMatrix& codes, const CodeMatrix& queries, std::size_t k, bool largest, std::int64_t* indices,
                float* scores) {
  const float sign = largest ? 1.0f : -1.0f;
  const std::size_t row_words = words_per_row(queries.n_levels, 1);
  for (std::size_t first = 0; first < queries.n_rows; first += chunk_of(k)) {
    CodeMatrix some = queries;
    some.rows += first * row_words;
    some.n_rows = std::min(chunk_of(k), queries.n_rows - first);
    auto best = search(codes, CodeQueries(codes, some, sign), some.n_rows, k);
    write(best, k, sign, indices + first * k, scores + first * k);
  }
}

}  // namespace lowtide
