// What the scan of code_top_k asks of queries: byte tables, a limit below which no row can be taken, a
// bound on the product of a sum, the exact product.
//
// Both kinds count so that larger is better; `sign` is -1 when the smallest scores are wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lowtide/buffer.hpp"
#include "lowtide/code_products.hpp"

namespace lowtide {

// Queries [first, first + count) whose tables lie side by side; count is one that code_scan takes.
struct QueryGroup {
  std::size_t first, count;
};

std::vector<QueryGroup> query_groups(std::size_t n_queries);

// Byte tables of all groups: entry v of nibble g for query q.
class ByteTables {
 public:
  ByteTables(std::size_t n_queries, std::size_t n_nibbles);

  const std::vector<QueryGroup>& groups() const { return groups_; }
  const std::uint8_t* of(const QueryGroup& group) const { return data_.get() + group.first * n_nibbles_ * 16; }
  std::uint8_t* entries(const QueryGroup& group, std::size_t q, std::size_t g) {
    return data_.get() + (group.first * n_nibbles_ + g * group.count + q - group.first) * 16;
  }

  // The tables of other queries, in the order given, in place of what is there; no more of them than were made room for.
  void take(const ByteTables& from, const std::int32_t* queries, std::size_t n_queries);

 private:
  std::vector<QueryGroup> groups_;
  std::size_t n_nibbles_;
  Buffer<std::uint8_t> data_;
};

// Weights on the decoded features. The score is a sum of double tables; the bytes are those tables in steps:
//   table[g][v] = base[g] + step * byte[g][v] + error,   score <= offset + step * sum of bytes,
//   offset = sum over g of (base[g] + largest error of g) + a bound on the rounding of all of this in double.
// Entries below the base have byte 0: a few very large weights must not leave the others without steps, and rows that
// lack them are overrated, not lost.
class FloatQueries {
 public:
  FloatQueries(const CodeMatrix& codes, const double* Q, std::size_t n_queries, double sign);

  std::size_t n_queries() const { return steps_.size(); }
  std::size_t n_bytes() const { return n_bytes_; }
  std::size_t run() const;
  const ByteTables& bytes() const { return bytes_; }
  std::size_t place(std::size_t q) const { return q; }  // among all queries
  std::uint16_t limit(std::size_t q, double worst) const;
  double bound(std::size_t q, std::uint16_t sum) const { return steps_[q].offset + steps_[q].step * sum; }
  double product(std::size_t q, const std::uint64_t* row, std::uint16_t sum) const;

 private:
  struct Steps {
    double offset, step;
  };

  void fill(const QueryGroup& group, std::size_t q, const std::vector<double>& values, const double* weights,
            std::size_t n_features, double sign);

  std::size_t row_words_, n_bytes_;
  ByteTables bytes_;
  Buffer<double> tables_;  // [query][16 row_words][16]
  std::vector<Steps> steps_;
};

// Some of many queries, to be scanned together.
class SomeQueries {
 public:
  explicit SomeQueries(const FloatQueries& all) : all_(all), bytes_(all.n_queries(), 2 * all.n_bytes()) {}

  void choose(const std::int32_t* queries, std::size_t n_queries) {
    chosen_ = queries;
    bytes_.take(all_.bytes(), queries, n_queries);
  }

  std::size_t n_bytes() const { return all_.n_bytes(); }
  std::size_t run() const { return all_.run(); }
  const ByteTables& bytes() const { return bytes_; }
  std::size_t place(std::size_t q) const { return static_cast<std::size_t>(chosen_[q]); }
  std::uint16_t limit(std::size_t q, double worst) const { return all_.limit(place(q), worst); }
  double bound(std::size_t q, std::uint16_t sum) const { return all_.bound(place(q), sum); }
  double product(std::size_t q, const std::uint64_t* row, std::uint16_t sum) const {
    return all_.product(place(q), row, sum);
  }

 private:
  const FloatQueries& all_;
  ByteTables bytes_;
  const std::int32_t* chosen_ = nullptr;
};

// Weights on the decoded features of width 1 for rows as they lie in memory: bytes of the codebook times bytes of weights,
//   book[v] = base + book step * entry[v] + error,   weight[j] = weight step * byte[j] + error,
//   score <= offset + step * sum of entry * byte,
// offset = base * sum of weights + sum over j of the largest error of a product + a bound on the rounding in double.
class RowQueries {
 public:
  // Up to so many queries row_scan is faster than tables; 0 where there is no fast form, or what it makes of them may be
  // past float's range.
  static std::size_t most(const CodeMatrix& codes, const double* Q, std::size_t n_queries);

  RowQueries(const CodeMatrix& codes, const double* Q, std::size_t n_queries, double sign);

  const std::uint8_t* tables() const { return tables_; }
  const std::int8_t* weights(std::size_t q) const { return weights_.get() + q * n_weights_; }
  double bound(std::size_t q, std::int32_t sum) const { return lines_[q].offset + lines_[q].step * sum; }
  // A line in the sum that is not below the bound when it is computed in float, nor times a factor: offset and step.
  float float_offset(std::size_t q) const { return lines_[q].float_offset; }
  float float_step(std::size_t q) const { return static_cast<float>(lines_[q].step); }
  double product(std::size_t q, const std::uint64_t* row) const { return exact_.product(q, row, 0); }
  const FloatQueries& exact() const { return exact_; }

 private:
  struct Line {
    double offset, step;
    float float_offset;
  };

  FloatQueries exact_;
  std::size_t n_weights_;
  std::uint8_t tables_[64];  // [place in a nibble][nibble]
  Buffer<std::int8_t> weights_;
  std::vector<Line> lines_;
};

// Packed 1-bit rows under a symmetric contingency table: the bytes count equal bits, or different ones.
class CodeQueries {
 public:
  CodeQueries(const CodeMatrix& codes, const CodeMatrix& queries, double sign);

  std::size_t n_bytes() const { return n_bytes_; }
  std::size_t run() const;
  const ByteTables& bytes() const { return bytes_; }
  std::size_t place(std::size_t q) const { return q; }  // among all queries
  std::uint16_t limit(std::size_t q, double worst) const;
  double bound(std::size_t, std::uint16_t sum) const { return scores_[sum]; }
  double product(std::size_t, const std::uint64_t*, std::uint16_t sum) const { return scores_[sum]; }

 private:
  void fill(const CodeMatrix& queries, const QueryGroup& group, std::size_t q, bool count_equal);

  std::size_t n_bytes_;
  ByteTables bytes_;
  std::vector<float> scores_;  // of each count, never falling
};

}  // namespace lowtide
