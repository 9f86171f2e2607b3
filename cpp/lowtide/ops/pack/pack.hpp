// pack: levels, one byte each, to the packed layout, and back. Exact at every level.
//
// levels: (n_levels,) bytes, each below 2^bits. row: words_per_row(n_levels, bits) words, written whole, padding zero.
// The tail is handled bit by bit. No overflow: values are masked to `bits`.
#pragma once

#include "lowtide/layout.hpp"

namespace lowtide {

using PackFn = void (*)(const std::uint8_t* levels, std::size_t n_levels, unsigned bits, std::uint64_t* row);
using UnpackFn = void (*)(const std::uint64_t* row, std::size_t n_levels, unsigned bits, std::uint8_t* levels);

namespace scalar {
void pack(const std::uint8_t* levels, std::size_t n_levels, unsigned bits, std::uint64_t* row);
void unpack(const std::uint64_t* row, std::size_t n_levels, unsigned bits, std::uint8_t* levels);
}  // namespace scalar

}  // namespace lowtide
