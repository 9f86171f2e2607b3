#include "lowtide/code_top_k.hpp"

#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include "lowtide/best.hpp"
#include "lowtide/cancel.hpp"
#include "lowtide/layout.hpp"
#include "lowtide/parallel.hpp"
#include "lowtide/scan_passes.hpp"
#include "lowtide/scan_queries.hpp"

namespace lowtide {
namespace {

constexpr std::size_t kChunk = 64;                   // queries that share one reading of the rows
constexpr std::size_t kShared = 1024;                // the same of cells, of which a query reads few
constexpr std::size_t kSharedBytes = 64 << 20;       // of their tables
constexpr std::size_t kKept = std::size_t{1} << 22;  // scored rows kept at a time by all queries of a chunk
constexpr std::size_t kGrainRows = 2048;

// A cell and those who read it: a part of CellReaders::queries.
struct ReadCell {
  std::size_t cell, first, count;
  std::size_t work;  // of all cells before it: rows times queries
};

// Queries [first, first + count) by the cells that they read, cells that are nearest to one of them first.
struct CellReaders {
  std::vector<ReadCell> cells;
  std::vector<std::int32_t> queries;
  std::size_t work = 0;

  CellReaders(const RowCells& all, std::size_t first, std::size_t count) : queries(count * all.n_read) {
    const std::int32_t* read = all.read + first * all.n_read;
    std::vector<std::size_t> ends(all.n_cells + 1, 0);
    for (std::size_t i = 0; i < queries.size(); ++i) ++ends[static_cast<std::size_t>(read[i]) + 1];
    for (std::size_t c = 0; c < all.n_cells; ++c) ends[c + 1] += ends[c];
    const std::vector<std::size_t> starts(ends);
    std::vector<std::size_t> next(ends);
    // Queries in turn, so that those of a cell are in order.
    for (std::size_t q = 0; q < count; ++q)
      for (std::size_t i = 0; i < all.n_read; ++i)
        queries[next[static_cast<std::size_t>(read[q * all.n_read + i])]++] = static_cast<std::int32_t>(q);
    std::vector<bool> is_listed(all.n_cells, false);
    for (std::size_t i = 0; i < all.n_read; ++i)
      for (std::size_t q = 0; q < count; ++q) {
        const auto c = static_cast<std::size_t>(read[q * all.n_read + i]);
        const auto n_rows = static_cast<std::size_t>(all.starts[c + 1] - all.starts[c]);
        if (is_listed[c] || n_rows == 0) continue;
        is_listed[c] = true;
        cells.push_back({c, starts[c], starts[c + 1] - starts[c], work});
        work += n_rows * cells.back().count;
      }
  }
};

// One thread's pass over some cells: few queries take the rows as they lie, more share tiles.
class CellScan {
 public:
  CellScan(const CodeMatrix& codes, const RowTerms& terms, float sign, const FloatQueries& queries,
           const RowQueries* few, std::size_t most_few, std::vector<Best>& best)
      : some_(queries), tiles_(codes, terms, sign, some_, best), most_few_(few == nullptr ? 0 : most_few) {
    if (few != nullptr) rows_.emplace(codes, terms, sign, *few, best);
  }

  void pass(const RowCells& all, const CellReaders& readers, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const ReadCell& one = readers.cells[i];
      const auto begin = static_cast<std::size_t>(all.starts[one.cell]);
      const auto end = static_cast<std::size_t>(all.starts[one.cell + 1]);
      const std::int32_t* queries = readers.queries.data() + one.first;
      poll();
      if (one.count <= most_few_) {
        rows_->pass_of(begin, end, queries, one.count);
        continue;
      }
      some_.choose(queries, one.count);
      tiles_.pass(begin, end, 0, some_.bytes().groups().size());
    }
  }

 private:
  SomeQueries some_;
  Scan<SomeQueries> tiles_;
  std::optional<RowScan> rows_;
  std::size_t most_few_;
};

void merge(std::vector<Best>& best, const std::vector<Best>& own) {
  for (std::size_t q = 0; q < best.size(); ++q)
    polled_blocks(0, own[q].rows().size(), Best::block, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) best[q].push(own[q].rows()[i]);
    });
}

// Threads share the rows when there are many, else the groups of queries that a pass takes.
template <typename Pass, typename Queries>
std::vector<Best> search(const CodeMatrix& codes, const RowTerms& terms, float sign, const Queries& queries,
                         std::size_t n_queries, std::size_t n_groups, std::size_t k) {
  std::vector<Best> best(n_queries, Best(k));
  if (codes.n_rows < 2 * kGrainRows) {
    parallel_for(n_groups, 1, [&](std::size_t first, std::size_t last) {
      Pass(codes, terms, sign, queries, best).pass(0, codes.n_rows, first, last);
    });
    return best;
  }
  std::mutex merging;
  parallel_for(codes.n_rows, kGrainRows, [&](std::size_t begin, std::size_t end) {
    std::vector<Best> own(n_queries, Best(k));
    Pass(codes, terms, sign, queries, own).pass(begin, end, 0, n_groups);
    const std::lock_guard<std::mutex> lock(merging);
    merge(best, own);
  });
  return best;
}

template <typename Queries>
std::vector<Best> search_tables(const CodeMatrix& codes, const RowTerms& terms, float sign, const Queries& queries,
                                std::size_t n_queries, std::size_t k) {
  return search<Scan<Queries>>(codes, terms, sign, queries, n_queries, queries.bytes().groups().size(), k);
}

void write(std::vector<Best>& best, std::size_t k, float sign, std::int64_t* indices, float* scores) {
  for (std::size_t q = 0; q < best.size(); ++q) {
    const auto& rows = best[q].sorted();
    for (std::size_t i = 0; i < k; ++i) {
      indices[q * k + i] = i < rows.size() ? rows[i].index : -1;
      scores[q * k + i] = i < rows.size() ? sign * rows[i].score + 0.0f : 0.0f;  // no negative zeros
    }
  }
}

std::vector<Best> search_cells(const CodeMatrix& codes, const RowTerms& terms, float sign, const RowCells& cells,
                               const FloatQueries& queries, const RowQueries* few, std::size_t most_few,
                               const CellReaders& readers, std::size_t k) {
  std::vector<Best> best(queries.n_queries(), Best(k));
  std::mutex merging;
  const auto at = [&](std::size_t work) {
    const auto before = [work](const ReadCell& one) { return one.work < work; };
    return static_cast<std::size_t>(std::partition_point(readers.cells.begin(), readers.cells.end(), before) -
                                    readers.cells.begin());
  };
  parallel_for(readers.work, kGrainRows, [&](std::size_t begin, std::size_t end) {
    std::vector<Best> own(best.size(), Best(k));
    CellScan(codes, terms, sign, queries, few, most_few, own).pass(cells, readers, at(begin), at(end));
    const std::lock_guard<std::mutex> lock(merging);
    merge(best, own);
  });
  return best;
}

std::size_t chunk_of(std::size_t k) { return std::clamp<std::size_t>(kKept / k, 1, kChunk); }

}  // namespace

void code_top_k(const CodeMatrix& codes, const RowTerms& terms, const double* Q, std::size_t n_queries, std::size_t k,
                bool largest, std::int64_t* indices, float* scores) {
  const float sign = largest ? 1.0f : -1.0f;
  const std::size_t n_features = codes.n_levels * codes.width;
  for (std::size_t first = 0; first < n_queries; first += chunk_of(k)) {
    const std::size_t count = std::min(chunk_of(k), n_queries - first);
    const double* some = Q + first * n_features;
    auto best = count <= RowQueries::most(codes, some, count)
                    ? search<RowScan>(codes, terms, sign, RowQueries(codes, some, count, sign), count, count, k)
                    : search_tables(codes, terms, sign, FloatQueries(codes, some, count, sign), count, k);
    write(best, k, sign, indices + first * k, scores + first * k);
  }
}

void code_top_k(const CodeMatrix& codes, const RowTerms& terms, const RowCells& cells, const double* Q,
                std::size_t n_queries, std::size_t k, bool largest, std::int64_t* indices, float* scores) {
  const float sign = largest ? 1.0f : -1.0f;
  const std::size_t n_features = codes.n_levels * codes.width;
  const std::size_t query_bytes = words_per_row(codes.n_levels, codes.bits) * 16 * 16 * (sizeof(double) + 1);
  const std::size_t chunk = std::min(std::clamp<std::size_t>(kSharedBytes / query_bytes, kChunk, kShared),
                                     std::max<std::size_t>(1, kKept / k));
  for (std::size_t first = 0; first < n_queries; first += chunk) {
    const std::size_t count = std::min(chunk, n_queries - first);
    const double* some = Q + first * n_features;
    const CellReaders readers(cells, first, count);
    const std::size_t most_few = RowQueries::most(codes, some, count);
    std::optional<RowQueries> few;
    std::optional<FloatQueries> own;
    if (most_few > 0)
      few.emplace(codes, some, count, sign);
    else
      own.emplace(codes, some, count, sign);
    auto best =
        search_cells(codes, terms, sign, cells, few ? few->exact() : *own, few ? &*few : nullptr, most_few, readers, k);
    write(best, k, sign, indices + first * k, scores + first * k);
  }
}

void code_top_k(const CodeMatrix& codes, const RowTerms& terms, const CodeMatrix& queries, std::size_t k, bool largest,
                std::int64_t* indices, float* scores) {
  const float sign = largest ? 1.0f : -1.0f;
  const std::size_t row_words = words_per_row(queries.n_levels, 1);
  for (std::size_t first = 0; first < queries.n_rows; first += chunk_of(k)) {
    CodeMatrix some = queries;
    some.rows += first * row_words;
    some.n_rows = std::min(chunk_of(k), queries.n_rows - first);
    auto best = search_tables(codes, terms, sign, CodeQueries(codes, some, sign), some.n_rows, k);
    write(best, k, sign, indices + first * k, scores + first * k);
  }
}

}  // namespace lowtide
