// The ternary op on vectors of Level::bytes, written once for the vector levels. A line of the tile is held in
// registers for the whole of an output's lists: one load of an index, then one addition a register, its operand in
// memory. Trits gather in lanes as wide as the sums, 8 or 16 of them, and are put together to words only then.
//
// Level lives in an unnamed namespace of the including file, so every instance is that file's own.
#pragma once

#include "lowtide/ops/ternary/ternary.hpp"

namespace lowtide::ternary_lanes {

template <typename T>
struct LaneOf;
template <>
struct LaneOf<std::int16_t> {
  using type = std::uint16_t;
};
template <>
struct LaneOf<std::int32_t> {
  using type = std::uint32_t;
};
template <>
struct LaneOf<float> {
  using type = std::uint32_t;
};

template <class Level, typename T>
struct Lanes {
  using U = typename LaneOf<T>::type;
  typedef T Reg __attribute__((vector_size(Level::bytes)));
  typedef U Bits __attribute__((vector_size(Level::bytes)));
  static constexpr int width = Level::bytes / sizeof(T);
  static constexpr int n = kTernaryRows / width;  // registers a line

  static Reg load(const T* p) { return *reinterpret_cast<const Reg*>(p); }
  static void store(T* p, Reg r) { *reinterpret_cast<Reg*>(p) = r; }

  static void sums(const T* tile, const std::uint16_t* lists, const std::uint32_t* starts, std::size_t n_outputs,
                   bool first, T* sums) {
    for (std::size_t j = 0; j < n_outputs; ++j, sums += kTernaryRows) {
      Reg total[n];
#pragma GCC unroll 16
      for (int v = 0; v < n; ++v) total[v] = first ? Reg{} : load(sums + v * width);
      const std::uint16_t* list = lists + starts[2 * j];
      const std::uint16_t* const pluses = lists + starts[2 * j + 1];
      const std::uint16_t* const minuses = lists + starts[2 * j + 2];
      for (; list != pluses; ++list) {
        const T* line = tile + *list * kTernaryRows;
#pragma GCC unroll 16
        for (int v = 0; v < n; ++v) total[v] = total[v] + load(line + v * width);
      }
      for (; list != minuses; ++list) {
        const T* line = tile + *list * kTernaryRows;
#pragma GCC unroll 16
        for (int v = 0; v < n; ++v) total[v] = total[v] - load(line + v * width);
      }
#pragma GCC unroll 16
      for (int v = 0; v < n; ++v) store(sums + v * width, total[v]);
    }
  }

  static void trits(const T* sums, std::size_t n_outputs, const T* upper, const T* lower, bool even,
                    std::uint64_t* words) {
    constexpr std::size_t per = 4 * sizeof(T), n_lanes = 32 / per;  // trits a lane, lanes a word
    alignas(64) U lanes[n_lanes][kTernaryRows];
    for (std::size_t l = 0; l < n_lanes; ++l) {
      const std::size_t first = l * per, last = n_outputs < first + per ? n_outputs : first + per;
      for (int v = 0; v < n; ++v) {
        Bits found{};
        for (std::size_t j = first; j < last; ++j) {
          const Reg s = load(sums + j * kTernaryRows + v * width);
          const Bits above = reinterpret_cast<Bits>(s > upper[j]),
                     below = reinterpret_cast<Bits>(s < lower[j]) & ~above;
          const U plus = static_cast<U>(U{1} << 2 * (j - first)), minus = even ? plus : static_cast<U>(plus + plus);
          found |= (above & plus) | (below & minus);
        }
        *reinterpret_cast<Bits*>(lanes[l] + v * width) = found;
      }
    }
    for (std::size_t r = 0; r < kTernaryRows; ++r) {
      std::uint64_t word = 0;
      for (std::size_t l = 0; l < n_lanes; ++l) word |= static_cast<std::uint64_t>(lanes[l][r]) << (2 * per * l);
      words[r] = word;
    }
  }

  static constexpr TernaryOp<T> op = {sums, trits};
};

}  // namespace lowtide::ternary_lanes
