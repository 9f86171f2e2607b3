// Inputs: drawn from raw words of a generator that the standard fixes, in memory aligned as the library's own, so that
// a count depends on neither the library of distributions nor the allocator.
#pragma once

#include <cstdint>
#include <memory>
#include <random>

#include "lowtide/buffer.hpp"

namespace lowtide::opcount {

template <typename T>
using Array = std::shared_ptr<T[]>;

template <typename T, typename Draw>
Array<T> filled(std::size_t n, Draw draw) {
  Array<T> array(make_buffer<T>(n));
  for (std::size_t i = 0; i < n; ++i) array[i] = draw();
  return array;
}

template <typename T>
Array<T> zeros(std::size_t n) {
  return filled<T>(n, [] { return T{}; });
}

// Multiples of 2^-23 in [-1, 1), exact as float and as double.
template <typename T>
Array<T> numbers(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  return filled<T>(n, [&] { return static_cast<T>(random() >> 8) / T(1 << 23) - T(1); });
}

inline Array<float> signs(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  return filled<float>(n, [&] { return random() >> 31 ? 1.0f : -1.0f; });
}

// Integers in [0, below).
template <typename T>
Array<T> integers(std::size_t n, std::uint32_t below, unsigned seed) {
  std::mt19937 random(seed);
  return filled<T>(n, [&] { return static_cast<T>(random() % below); });
}

// Packed rows without padding are words.
inline Array<std::uint64_t> words(std::size_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  return filled<std::uint64_t>(n, [&] { return static_cast<std::uint64_t>(random()); });
}

}  // namespace lowtide::opcount
