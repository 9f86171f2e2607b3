// trit_dot: dot products of rows of trits in two planes, sums[i][j] += sum over k of a_ik b_jk, a, b in {-1, 0, 1}.
// Exact: with the masks of trits that are not 0 and of minuses,
//   a . b = popcount(both) - 2 popcount(both AND (minus_a XOR minus_b)),   both = nonzero_a AND nonzero_b.
//
// A row has n_groups groups of kTritGroup words of its first plane, nonzero, each followed by as many of its second,
// minus: a vector load of either at any level. Rows start at a multiple of 64 bytes, one right after the other; trits
// past the end are 0. sums: int32, rows `stride` apart. Overflow limit: fewer than 2^31 trits a row in all calls that
// add to the same sums. Tail: there is none within a row; blocks of rows that are not full repeat their last row and do
// not store it.
#pragma once

#include "lowtide/layout.hpp"

namespace lowtide {

constexpr std::size_t kTritGroup = 8;

// Groups of a row of n trits, and its words.
constexpr std::size_t trit_groups(std::size_t n) { return (n + 64 * kTritGroup - 1) / (64 * kTritGroup); }
constexpr std::size_t trit_words(std::size_t n) { return 2 * kTritGroup * trit_groups(n); }

using TritSumsFn = void (*)(const std::uint64_t* a, std::size_t n_a, const std::uint64_t* b, std::size_t n_b,
                            std::size_t n_groups, std::int32_t* sums, std::size_t stride);

namespace scalar {
void trit_sums(const std::uint64_t* a, std::size_t n_a, const std::uint64_t* b, std::size_t n_b, std::size_t n_groups,
               std::int32_t* sums, std::size_t stride);
}
namespace avx2 {
void trit_sums(const std::uint64_t* a, std::size_t n_a, const std::uint64_t* b, std::size_t n_b, std::size_t n_groups,
               std::int32_t* sums, std::size_t stride);
}
namespace avx512 {
void trit_sums(const std::uint64_t* a, std::size_t n_a, const std::uint64_t* b, std::size_t n_b, std::size_t n_groups,
               std::int32_t* sums, std::size_t stride);
}

}  // namespace lowtide
