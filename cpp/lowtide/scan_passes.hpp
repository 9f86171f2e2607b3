// One thread's passes over packed rows for code_top_k: tiles whose bytes are put side by side for many queries, and rows as
// they lie for few. What queries ask is in scan_queries.hpp.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "lowtide/best.hpp"
#include "lowtide/buffer.hpp"
#include "lowtide/cancel.hpp"
#include "lowtide/code_top_k.hpp"
#include "lowtide/layout.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/scan_queries.hpp"

namespace lowtide {

constexpr std::size_t kScanTileBytes = 1 << 17;  // interleaved rows, which stay in L2 while the groups of queries pass
constexpr std::size_t kScanPollRows = 2048;

// What is said of row i in results.
inline std::int64_t name_of(const RowTerms& terms, std::size_t row) {
  return terms.names == nullptr ? static_cast<std::int64_t>(row) : terms.names[row];
}

inline bool is_allowed(const RowTerms& terms, std::size_t row) {
  if (terms.names == nullptr) return terms.allowed[row] != 0;
  const auto name = static_cast<std::uint64_t>(terms.names[row]);
  if (name >= terms.n_names) throw std::invalid_argument("names of rows must be numbers below the length of allowed");
  return terms.allowed[name] != 0;
}

// Which of the rows [row, row + n_rows) are allowed, the first in the lowest bit.
inline std::uint64_t present_rows(const RowTerms& terms, std::size_t row, std::size_t n_rows) {
  const std::uint64_t all = n_rows == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n_rows) - 1;
  if (terms.allowed == nullptr) return all;
  std::uint64_t allowed = 0;
  for (std::size_t r = 0; r < n_rows; ++r) allowed |= std::uint64_t{is_allowed(terms, row + r)} << r;
  return allowed;
}

// Whether a number is infinite or none, by its bits: loops over floats that compare are not made vector code.
inline int is_endless(float x) { return static_cast<int>((std::bit_cast<std::int32_t>(x) & 0x7FFFFFFF) >= 0x7F800000); }

// Factors and offsets of a tile of rows.
struct Lines {
  float factors[kScanRows], offsets[kScanRows];

  void set(const RowTerms& terms, std::size_t row, std::size_t n_rows) {
    const float* given = terms.factors + row;
    if (terms.divisors == nullptr) {
      std::copy(given, given + n_rows, factors);
      std::copy(terms.offsets + row, terms.offsets + row + n_rows, offsets);
      return;
    }
    const float *divisors = terms.divisors + row, square = terms.square;
    int is_wrong = 0;
    for (std::size_t r = 0; r < n_rows; ++r) {
      const float quotient = given[r] / divisors[r];
      factors[r] = divisors[r] > 0 ? quotient : 0.0f;
      is_wrong |= is_endless(factors[r]);
    }
    for (std::size_t r = 0; r < n_rows; ++r) offsets[r] = given[r] * given[r];
    for (std::size_t r = 0; r < n_rows; ++r) {
      offsets[r] = square == 0 ? 0.0f : square * offsets[r];
      is_wrong |= is_endless(offsets[r]);
    }
    if (is_wrong != 0) throw std::invalid_argument("norms over corrections, and squares of norms, must be finite");
  }
};

// A tile of rows: which of them count, and of each the two numbers that say when it can reach a score.
//
// factor P + offset reaches w when P >= w / factor - offset / factor, for every row a line in w. A row of factor 0 has the
// same score whatever its product is: it is scored as soon as it is seen, by lines that let it pass.
struct TileTerms {
  std::uint64_t present;
  Lines lines;
  float inverse[kScanRows], shift[kScanRows];
  float slack;  // of a line, for a w of size 1

  void set(const RowTerms& terms, float sign, std::size_t row, std::size_t n_rows) {
    present = present_rows(terms, row, n_rows);
    if (terms.factors == nullptr || present == 0) return;
    lines.set(terms, row, n_rows);
    // The first row that counts stands for those that do not, so that none of them has the least line.
    const auto first = static_cast<std::size_t>(std::countr_zero(present));
    float largest = 0;
    for (std::size_t r = 0; r < kScanRows; ++r) {
      const std::size_t from = present >> r & 1 ? r : first;
      const float factor = lines.factors[from];
      const bool is_line = factor >= std::numeric_limits<float>::min();
      inverse[r] = is_line ? 1 / factor : 0.0f;
      shift[r] = is_line ? sign * lines.offsets[from] / factor : std::numeric_limits<float>::max();
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
        n_tiles_(std::max<std::size_t>(1, kScanTileBytes / tile_bytes())),
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
        limits_[q] = best(q).full() ? queries_.limit(q, own.least_product(best(q).worst())) : 0;
    ops().code_scan.scan(tile, queries_.n_bytes(), queries_.bytes().of(group), group.count, queries_.run(),
                         limits_.data() + group.first, masks, sums);
    for (std::size_t q = 0; q < group.count; ++q)
      if (masks[q] & own.present) take(group.first + q, masks[q] & own.present, sums + q * kScanRows, row, own.lines);
  }

  Best& best(std::size_t q) { return best_[queries_.place(q)]; }

  void take(std::size_t q, std::uint64_t mask, const std::uint16_t* sums, std::size_t row, const Lines& lines) {
    for (; mask != 0; mask &= mask - 1) {
      const auto r = static_cast<std::size_t>(std::countr_zero(mask));
      if (terms_.factors != nullptr) {
        take_with_terms(q, row + r, sums[r], lines.factors[r], lines.offsets[r]);
        continue;
      }
      if (sums[r] < limits_[q]) continue;  // the limit has risen within the tile
      const auto score = static_cast<float>(queries_.product(q, rows_ + (row + r) * row_words_, sums[r]));
      if (best(q).push({score, name_of(terms_, row + r)}) && best(q).full())
        limits_[q] = queries_.limit(q, best(q).worst());
    }
  }

  // Products, sums and roundings rise with what they are made of, so the score of a bound bounds the score.
  void take_with_terms(std::size_t q, std::size_t row, std::uint16_t sum, double factor, double own) {
    const auto score_of = [&](double product) { return static_cast<float>(factor * product + sign_ * own); };
    if (best(q).full() && score_of(queries_.bound(q, sum)) < best(q).worst()) return;
    best(q).push({score_of(queries_.product(q, rows_ + row * row_words_, sum)), name_of(terms_, row)});
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
    each_tile(begin, end, [&](std::size_t row, std::size_t n_rows, std::uint64_t present) {
      for (std::size_t q = first; q < last; ++q) scan_tile(q, row, n_rows, present);
    });
  }

  // Rows [begin, end) for some queries.
  void pass_of(std::size_t begin, std::size_t end, const std::int32_t* queries, std::size_t n_queries) {
    each_tile(begin, end, [&](std::size_t row, std::size_t n_rows, std::uint64_t present) {
      for (std::size_t q = 0; q < n_queries; ++q) scan_tile(static_cast<std::size_t>(queries[q]), row, n_rows, present);
    });
  }

 private:
  template <typename Body>
  void each_tile(std::size_t begin, std::size_t end, const Body& body) {
    polled_blocks(begin, end, kScanPollRows, [&](std::size_t block, std::size_t stop) {
      for (std::size_t row = block; row < stop; row += kRowScan) {
        const std::size_t n_rows = std::min(kRowScan, stop - row);
        const std::uint64_t present = present_rows(terms_, row, n_rows);
        if (present == 0) continue;
        if (terms_.factors != nullptr) lines_.set(terms_, row, n_rows);
        body(row, n_rows, present);
      }
    });
  }

  void scan_tile(std::size_t q, std::size_t row, std::size_t n_rows, std::uint64_t present) {
    std::int32_t sums[kRowScan];
    ops().row_scan(rows_ + row * row_words_, n_rows, row_words_, bits_, queries_.tables(), queries_.weights(q), sums);
    if (!reached(q, n_rows, sums)) return;
    for (std::uint64_t left = present; left != 0; left &= left - 1) {
      const auto r = static_cast<std::size_t>(std::countr_zero(left));
      take(q, row, r, sums[r]);
    }
  }

  // Whether a row may have a score that is not below the worst; what is past the range of float may.
  bool reached(std::size_t q, std::size_t n_rows, const std::int32_t* sums) const {
    const float worst = best_[q].worst(), offset = queries_.float_offset(q), step = queries_.float_step(q);
    constexpr float least = std::numeric_limits<float>::lowest();
    int some = 0;
    if (terms_.factors == nullptr) {
      for (std::size_t r = 0; r < n_rows; ++r) some |= !(offset + step * static_cast<float>(sums[r]) < worst);
      return some != 0;
    }
    for (std::size_t r = 0; r < n_rows; ++r) {
      const float own = sign_ * lines_.offsets[r];
      const float score =
          lines_.factors[r] * (offset + step * static_cast<float>(sums[r])) + (own + std::abs(own) * 0x1p-20f);
      some |= static_cast<int>(!(score < worst)) | static_cast<int>(score < least);
    }
    return some != 0;
  }

  // Products, sums and roundings rise with what they are made of, so the score of a bound bounds the score.
  void take(std::size_t q, std::size_t tile, std::size_t r, std::int32_t sum) {
    const double factor = terms_.factors == nullptr ? 1.0 : double{lines_.factors[r]};
    const double offset = terms_.factors == nullptr ? 0.0 : double{sign_} * lines_.offsets[r];
    const auto score_of = [&](double product) { return static_cast<float>(factor * product + offset); };
    if (best_[q].full() && score_of(queries_.bound(q, sum)) < best_[q].worst()) return;
    const std::size_t row = tile + r;
    best_[q].push({score_of(queries_.product(q, rows_ + row * row_words_)), name_of(terms_, row)});
  }

  const std::uint64_t* rows_;
  const RowTerms& terms_;
  float sign_;
  std::size_t row_words_;
  unsigned bits_;
  const RowQueries& queries_;
  std::vector<Best>& best_;
  Lines lines_;
};

}  // namespace lowtide
