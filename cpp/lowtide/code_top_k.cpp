#include "lowtide/code_top_k.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
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

// Which of the rows [row, row + n_rows) are allowed, the first in the lowest bit.
std::uint64_t present_rows(const RowTerms& terms, std::size_t row, std::size_t n_rows) {
  const std::uint64_t all = n_rows == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n_rows) - 1;
  if (terms.allowed == nullptr) return all;
  std::uint64_t allowed = 0;
  for (std::size_t r = 0; r < n_rows; ++r) allowed |= std::uint64_t{terms.allowed[row + r] != 0} << r;
  return allowed;
}

// A tile of rows: which of them count, and of each the two numbers that say when it can reach a score.
//
// factor P + offset reaches w when P >= w / factor - offset / factor, for every row a line in w. A row of factor 0 has the
// same score whatever its product is: it is scored as soon as it is seen, by lines that let it pass.
struct TileTerms {
  std::uint64_t present;
  float inverse[kScanRows], shift[kScanRows];
  float slack;  // of a line, for a w of size 1

  void set(const RowTerms& terms, float sign, std::size_t row, std::size_t n_rows) {
    present = present_rows(terms, row, n_rows);
    if (terms.factors == nullptr || present == 0) return;
    // The first row that counts stands for those that do not, so that none of them has the least line.
    const auto first = static_cast<std::size_t>(std::countr_zero(present));
    float largest = 0;
    for (std::size_t r = 0; r < kScanRows; ++r) {
      const std::size_t from = row + (present >> r & 1 ? r : first);
      const float factor = terms.factors[from];
      const bool is_line = factor >= std::numeric_limits<float>::min();
      inverse[r] = is_line ? 1 / factor : 0.0f;
      shift[r] = is_line ? sign * terms.offsets[from] / factor : std::numeric_limits<float>::max();
      if (is_line) largest = std::max(largest, std::max(inverse[r], std::abs(shift[r])));
    }
    slack = largest * 0x1p-20f;
  }

  // A product below this leaves every row of the tile below w.
  double least_product(float w) const {
    float least[16];
    for (std::size_t j = 0; j < 16; ++j) least[j] = std::numeric_limits<float>::max();
    for (std::size_t r = 0; r < kScanRows; r += 16)
      for (std::size_t j = 0; j < 16; ++j) {
        const float line = w * inverse[r + j] - shift[r + j];
        least[j] = line < least[j] ? line : least[j];
      }
    float all = least[0];
    for (std::size_t j = 1; j < 16; ++j) all = std::min(all, least[j]);
    return double{all} - double{slack} * (1 + std::abs(double{w}));
  }
};

// One thread's pass over some rows: tiles and what the queries keep.
template <typename Queries>
class Scan {
 public:
  Scan(const CodeMatrix& codes, const RowTerms& terms, float sign, const Queries& queries, std::vector<Best>& best)
      : rows_(codes.rows),
        terms_(terms),
        sign_(sign),
        row_words_(words_per_row(codes.n_levels, codes.bits)),
        queries_(queries),
        best_(best),
        limits_(best.size(), 0),
        n_tiles_(std::max<std::size_t>(1, kTileBytes / tile_bytes())),
        tiles_(make_buffer<std::uint8_t>(n_tiles_ * tile_bytes())),
        of_tile_(n_tiles_) {}

  // Rows [begin, end) for groups [first, last).
  void pass(std::size_t begin, std::size_t end, std::size_t first, std::size_t last) {
    for (std::size_t row = begin; row < end; row += n_tiles_ * kScanRows) {
      const std::size_t stop = std::min(end, row + n_tiles_ * kScanRows);
      for (std::size_t i = row; i < stop; i += kScanRows) {
        const std::size_t n_rows = std::min(kScanRows, stop - i);
        TileTerms& own = of_tile_[(i - row) / kScanRows];
        own.set(terms_, sign_, i, n_rows);
        if (own.present != 0) ops().code_scan.interleave(rows_ + i * row_words_, n_rows, row_words_, tile(i - row));
      }
      for (std::size_t g = first; g < last; ++g) {
        poll();
        for (std::size_t i = row; i < stop; i += kScanRows) {
          const TileTerms& own = of_tile_[(i - row) / kScanRows];
          if (own.present != 0) scan_tile(queries_.bytes().groups()[g], tile(i - row), i, own);
        }
      }
    }
  }

 private:
  std::size_t tile_bytes() const { return kScanRows * 8 * row_words_; }
  std::uint8_t* tile(std::size_t row) { return tiles_.get() + row / kScanRows * tile_bytes(); }

  void scan_tile(const QueryGroup& group, const std::uint8_t* tile, std::size_t row, const TileTerms& own) {
    std::uint64_t masks[kScanQueries];
    std::uint16_t sums[kScanQueries * kScanRows];
    if (terms_.factors != nullptr)
      for (std::size_t q = group.first; q < group.first + group.count; ++q)
        limits_[q] = best_[q].full() ? queries_.limit(q, own.least_product(best_[q].worst())) : 0;
    ops().code_scan.scan(tile, queries_.n_bytes(), queries_.bytes().of(group), group.count, queries_.run(),
                         limits_.data() + group.first, masks, sums);
    for (std::size_t q = 0; q < group.count; ++q)
      if (masks[q] & own.present) take(group.first + q, masks[q] & own.present, sums + q * kScanRows, row);
  }

  void take(std::size_t q, std::uint64_t mask, const std::uint16_t* sums, std::size_t row) {
    for (; mask != 0; mask &= mask - 1) {
      const auto r = static_cast<std::size_t>(std::countr_zero(mask));
      if (terms_.factors != nullptr) {
        take_with_terms(q, row + r, sums[r]);
        continue;
      }
      if (sums[r] < limits_[q]) continue;  // the limit has risen within the tile
      const auto score = static_cast<float>(queries_.product(q, rows_ + (row + r) * row_words_, sums[r]));
      if (best_[q].push({score, static_cast<std::int64_t>(row + r)}) && best_[q].full())
        limits_[q] = queries_.limit(q, best_[q].worst());
    }
  }

  // Products, sums and roundings rise with what they are made of, so the score of a bound bounds the score.
  void take_with_terms(std::size_t q, std::size_t row, std::uint16_t sum) {
    const double factor = terms_.factors[row], offset = double{sign_} * terms_.offsets[row];
    const auto score_of = [&](double product) { return static_cast<float>(factor * product + offset); };
    if (best_[q].full() && score_of(queries_.bound(q, sum)) < best_[q].worst()) return;
    best_[q].push({score_of(queries_.product(q, rows_ + row * row_words_, sum)), static_cast<std::int64_t>(row)});
  }

  const std::uint64_t* rows_;
  const RowTerms& terms_;
  float sign_;
  std::size_t row_words_;
  const Queries& queries_;
  std::vector<Best>& best_;
  std::vector<std::uint16_t> limits_;
  std::size_t n_tiles_;
  Buffer<std::uint8_t> tiles_;
  std::vector<TileTerms> of_tile_;
};

// One thread's pass over some rows as they lie in memory, for few queries.
class RowScan {
 public:
  RowScan(const CodeMatrix& codes, const RowTerms& terms, float sign, const RowQueries& queries,
          std::vector<Best>& best)
      : rows_(codes.rows),
        terms_(terms),
        sign_(sign),
        row_words_(words_per_row(codes.n_levels, codes.bits)),
        bits_(codes.bits),
        queries_(queries),
        best_(best) {}

  // Rows [begin, end) for queries [first, last).
  void pass(std::size_t begin, std::size_t end, std::size_t first, std::size_t last) {
    polled_blocks(begin, end, kGrainRows, [&](std::size_t block, std::size_t stop) {
      for (std::size_t row = block; row < stop; row += kRowScan) {
        const std::size_t n_rows = std::min(kRowScan, stop - row);
        const std::uint64_t present = present_rows(terms_, row, n_rows);
        for (std::size_t q = first; q < last && present != 0; ++q) scan_tile(q, row, n_rows, present);
      }
    });
  }

 private:
  void scan_tile(std::size_t q, std::size_t row, std::size_t n_rows, std::uint64_t present) {
    std::int32_t sums[kRowScan];
    ops().row_scan(rows_ + row * row_words_, n_rows, row_words_, bits_, queries_.tables(), queries_.weights(q), sums);
    if (!reached(q, row, n_rows, sums)) return;
    for (std::uint64_t left = present; left != 0; left &= left - 1) {
      const auto r = static_cast<std::size_t>(std::countr_zero(left));
      take(q, row + r, sums[r]);
    }
  }

  // Whether a row may have a score that is not below the worst; what is past the range of float may.
  bool reached(std::size_t q, std::size_t row, std::size_t n_rows, const std::int32_t* sums) const {
    const float worst = best_[q].worst(), offset = queries_.float_offset(q), step = queries_.float_step(q);
    constexpr float least = std::numeric_limits<float>::lowest();
    int some = 0;
    if (terms_.factors == nullptr) {
      for (std::size_t r = 0; r < n_rows; ++r) some |= !(offset + step * static_cast<float>(sums[r]) < worst);
      return some != 0;
    }
    const float *factors = terms_.factors + row, *offsets = terms_.offsets + row;
    for (std::size_t r = 0; r < n_rows; ++r) {
      const float own = sign_ * offsets[r];
      const float score = factors[r] * (offset + step * static_cast<float>(sums[r])) + (own + std::abs(own) * 0x1p-20f);
      some |= static_cast<int>(!(score < worst)) | static_cast<int>(score < least);
    }
    return some != 0;
  }

  // Products, sums and roundings rise with what they are made of, so the score of a bound bounds the score.
  void take(std::size_t q, std::size_t row, std::int32_t sum) {
    const double factor = terms_.factors == nullptr ? 1.0 : double{terms_.factors[row]};
    const double offset = terms_.factors == nullptr ? 0.0 : double{sign_} * terms_.offsets[row];
    const auto score_of = [&](double product) { return static_cast<float>(factor * product + offset); };
    if (best_[q].full() && score_of(queries_.bound(q, sum)) < best_[q].worst()) return;
    best_[q].push({score_of(queries_.product(q, rows_ + row * row_words_)), static_cast<std::int64_t>(row)});
  }

  const std::uint64_t* rows_;
  const RowTerms& terms_;
  float sign_;
  std::size_t row_words_;
  unsigned bits_;
  const RowQueries& queries_;
  std::vector<Best>& best_;
};

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
    for (std::size_t q = 0; q < n_queries; ++q)
      polled_blocks(0, own[q].rows().size(), Best::block, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) best[q].push(own[q].rows()[i]);
      });
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
      indices[q * k + i] = rows[i].index;
      scores[q * k + i] = sign * rows[i].score + 0.0f;  // no negative zeros
    }
  }
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
    auto best = RowQueries::takes(codes, some, count)
                    ? search<RowScan>(codes, terms, sign, RowQueries(codes, some, count, sign), count, count, k)
                    : search_tables(codes, terms, sign, FloatQueries(codes, some, count, sign), count, k);
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
