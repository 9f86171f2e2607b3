// pack: levels, one byte each, to the packed layout, and back. Exact at every level.
//
// levels: (n_levels,) bytes. row: words_per_row(n_levels, bits) words, written whole, padding zero.
// No overflow: values are masked to `bits`. Tail: eight levels are exactly `bits` bytes, so only the last n_levels % 8
// are done one by one; nothing outside the row or the levels is touched.
#pragma once

#include "lowtide/layout.hpp"

namespace lowtide {

using PackFn = void (*)(const std::uint8_t* levels, std::size_t n_levels, unsigned bits, std::uint64_t* row);
using UnpackFn = void (*)(const std::uint64_t* row, std::size_t n_levels, unsigned bits, std::uint8_t* levels);

namespace scalar {
void pack(const std::uint8_t* levels, std::size_t n_levels, unsigned bits, std::uint64_t* row);
void unpack(const std::uint64_t* row, std::size_t n_levels, unsigned bits, std::uint8_t* levels);
}  // namespace scalar

namespace avx2 {
void pack(const std::uint8_t* levels, std::size_t n_levels, unsigned bits, std::uint64_t* row);
void unpack(const std::uint64_t* row, std::size_t n_levels, unsigned bits, std::uint8_t* levels);
}  // namespace avx2

namespace neon {
void pack(const std::uint8_t* levels, std::size_t n_levels, unsigned bits, std::uint64_t* row);
void unpack(const std::uint64_t* row, std::size_t n_levels, unsigned bits, std::uint8_t* levels);
}  // namespace neon

}  // namespace lowtide
