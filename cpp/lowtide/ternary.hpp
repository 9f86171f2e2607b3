// Rows through a sparse ternary projection to packed trits: splits the work, owns the buffers, calls the op.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lowtide {

// Entries +1 and -1 of the projection as lists of features, by chunks of `chunk` features: the pluses of output j in
// chunk c are lists[starts[2i] .. starts[2i + 1]), i = c n_outputs + j, its minuses the rest up to starts[2i + 2].
// Features count from the start of their chunk, so every entry of lists is below chunk.
struct TernaryLists {
  const std::uint16_t* lists;
  const std::uint32_t* starts;
  std::size_t n_features;
  std::size_t n_outputs;
  std::size_t chunk;
};

// Whether every one of n entries of lists is below chunk: what keeps the op within its tile.
bool all_below(const std::uint16_t* lists, std::size_t n, std::size_t chunk);

// The largest number of pluses, or of minuses, that an output has.
std::size_t most_terms(const TernaryLists& projection);

// Integers with more terms than this could leave int32.
constexpr std::size_t max_integer_terms = 65535;

// n rows at x + i row_stride, contiguous within a row.
template <typename X>
struct TernaryRows {
  const X* x;
  std::ptrdiff_t row_stride;
  std::size_t n;
};

// Trits of the rows' sums: 1 above upper, else 2 (`even`: 1) below lower, else 0; out (n, words_per_row(n_outputs, 2)),
// written whole. X is std::uint8_t or std::int16_t with T = std::int32_t, summed exactly, in 16 bits where they
// suffice; or float with T = float, summed in the order of the lists. A row's trits depend on nothing but the row.
template <typename X, typename T>
void ternary_encode(const TernaryRows<X>& rows, const TernaryLists& projection, const T* upper, const T* lower,
                    bool even, std::uint64_t* out);

}  // namespace lowtide
