// The k best rows of a packed code matrix for each query. Exact: a first pass over byte tables drops only rows whose
// upper bound is below the k-th best score so far, and every other row is scored in double.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lowtide/code_products.hpp"

namespace lowtide {

// Rows wider than this take other ways: the sums of the first pass must stay below 2^16 (floats, in steps of a table;
// counts, in bits), and its bound grows with the width while the spread of scores grows with the root of it.
constexpr std::size_t kTopKBytes = 1024;
constexpr std::size_t kTopKCounts = 65535;

// What belongs to each row beside its code; null where there is nothing. The score of row i is its factor times its
// product plus its offset, in double, rounded once; rows whose `allowed` is 0 are passed over. Factors are at least 0 and
// come with offsets or with divisors, (n_rows,) each:
//   offsets:    factors[i] and offsets[i], finite
//   divisors:   factors[i] / divisors[i] in float, 0 where the divisor is not positive, and square * factors[i]^2; where
//               one of them is not finite std::invalid_argument is thrown
// names[i]: the number that row i goes by in `allowed`, in results and among equal scores, below n_names.
struct RowTerms {
  const float* factors = nullptr;
  const float* offsets = nullptr;
  const std::uint8_t* allowed = nullptr;
  const float* divisors = nullptr;
  float square = 0;
  const std::int64_t* names = nullptr;
  std::size_t n_names = 0;
};

// Rows in cells, each one after the other: cell c is rows [starts[c], starts[c + 1]). Query q reads the cells
// read[q * n_read + i], i < n_read, each of them once.
struct RowCells {
  const std::int64_t* starts;
  std::size_t n_cells;
  const std::int32_t* read;
  std::size_t n_read;
};

// For each of n_queries rows of Q (n_queries, n_levels * width), finite and within the range of float: the k rows with
// the largest (or smallest) score (float) sum_j D[i][j] Q[q][j], the sum in double, best first, equal scores by lower
// index, into indices and scores (n_queries, k). bits 1, 2 or 4; n_levels * bits <= 8 kTopKBytes; 1 <= k <= n_rows.
// The same bits at every instruction-set level and thread count.
// Buffers: 64 queries at a time, 36 bytes * 8 a nibble of a row for each; 160 KB and 64 k 16 bytes a thread.
void code_top_k(const CodeMatrix& codes, const RowTerms& terms, const double* Q, std::size_t n_queries, std::size_t k,
                bool largest, std::int64_t* indices, float* scores);

// The same of the rows that each query reads; where they are fewer than k the last indices are -1. Terms have factors.
// Buffers: up to 1024 queries at a time, 64 MB of them.
void code_top_k(const CodeMatrix& codes, const RowTerms& terms, const RowCells& cells, const double* Q,
                std::size_t n_queries, std::size_t k, bool largest, std::int64_t* indices, float* scores);

// The same for queries that are packed 1-bit rows with equal n_levels <= kTopKCounts and width. Both codebooks together
// must make the product depend on the number of differing bits alone (`is_symmetric`), scores are those of code_dot.
// There are no factors.
void code_top_k(const CodeMatrix& codes, const RowTerms& terms, const CodeMatrix& queries, std::size_t k, bool largest,
                std::int64_t* indices, float* scores);

}  // namespace lowtide
