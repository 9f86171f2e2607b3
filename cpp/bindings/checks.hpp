// Array types of the bindings and the shape checks that keep an op from reading out of bounds.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <string>

#include "lowtide/layout.hpp"
#include "unlocked.hpp"

namespace lowtide {

namespace nb = nanobind;

template <typename T>
using Vector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T>
using Matrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

using CodeRows = Matrix<const std::uint8_t>;
using CodeRowsOut = Matrix<std::uint8_t>;

inline void require(bool holds, const char* message) {
  if (!holds) throw std::invalid_argument(message);
}

inline void check_rows(std::size_t row_bytes, const void* data, std::size_t n_levels, unsigned bits) {
  require(is_stored_width(bits), "bits must be 1, 2, 3, 4 or 8");
  require(row_bytes == bytes_per_row(n_levels, bits), "packed rows must be 8 * ceil(n_levels * bits / 64) bytes wide");
  require(row_bytes <= (std::size_t{1} << 28), "packed rows must be at most 2^28 bytes wide");
  require(reinterpret_cast<std::uintptr_t>(data) % 8 == 0, "packed rows must start at a multiple of 8 bytes");
}

// Rows a fixed stride apart, contiguous within a row: what a slice of a C-ordered matrix is.
template <typename T>
using StridedMatrix = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;

template <typename Array>
void check_aligned(const Array& array, const char* message) {
  require(reinterpret_cast<std::uintptr_t>(array.data()) % sizeof(typename Array::Scalar) == 0, message);
}

}  // namespace lowtide
