// Sums of the words of rows, each times a number of its own: what a hash of a row is made of.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lowtide {

// sums[i][k] = sum_j words[i][j] * factors[j][k] modulo 2^64, k = 0, 1, of rows of n_words words, on all threads.
void row_sums(const std::uint32_t* words, std::size_t n_rows, std::size_t n_words, const std::uint64_t* factors,
              std::uint64_t* sums);

}  // namespace lowtide
