// The packed bit layout, defined once.
//
// A row of L levels of B bits is one little-endian bit string: level j occupies bits [jB, (j+1)B), bit i of the
// string is bit i % 8 of byte i / 8. Rows are padded with zero bits to whole 64-bit words, so a row takes
// 8 * ceil(L B / 64) bytes. B is 1, 2, 3, 4 or 8. Trits are 2-bit levels: 0 is zero, 1 is plus, 2 is minus, so the
// even bits of a row are the mask of the pluses and the odd bits the mask of the minuses.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lowtide {

constexpr std::size_t words_per_row(std::size_t n_levels, unsigned bits) { return (n_levels * bits + 63) / 64; }

constexpr std::size_t bytes_per_row(std::size_t n_levels, unsigned bits) { return 8 * words_per_row(n_levels, bits); }

constexpr bool is_stored_width(unsigned bits) { return bits == 1 || bits == 2 || bits == 3 || bits == 4 || bits == 8; }

}  // namespace lowtide
