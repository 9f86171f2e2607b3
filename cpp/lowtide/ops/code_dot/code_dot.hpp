// code_dot: counts of common one bits of packed 1-bit rows, counts[i][j] += popcount(a_i AND b_j). Exact.
//
// a: n_a rows, b: n_b rows, both of n_words words and that far apart, with zero padding bits (padding that is set in
// both rows would be counted). counts: uint32, rows `stride` apart. Overflow limit: a count stays below 2^32, so at
// most 2^32 - 1 bits a row in all calls that add to the same counts. Tail: the last words are loaded under a mask or
// one by one; blocks of rows that are not full repeat their last row and do not store it.
#pragma once

#include "lowtide/layout.hpp"

namespace lowtide {

using CountsFn = void (*)(const std::uint64_t* a, std::size_t n_a, const std::uint64_t* b, std::size_t n_b,
                          std::size_t n_words, std::uint32_t* counts, std::size_t stride);

namespace scalar {
void code_counts(const std::uint64_t* a, std::size_t n_a, const std::uint64_t* b, std::size_t n_b, std::size_t n_words,
                 std::uint32_t* counts, std::size_t stride);
}
namespace avx2 {
void code_counts(const std::uint64_t* a, std::size_t n_a, const std::uint64_t* b, std::size_t n_b, std::size_t n_words,
                 std::uint32_t* counts, std::size_t stride);
}
namespace avx512 {
void code_counts(const std::uint64_t* a, std::size_t n_a, const std::uint64_t* b, std::size_t n_b, std::size_t n_words,
                 std::uint32_t* counts, std::size_t stride);
}

}  // namespace lowtide
