// The loop of decode over a register type V, written once for all instruction sets.
//
// Levels are unpacked to bytes a group at a time and looked up in the flattened codebook: in registers where V::held
// entries hold it, else in memory. V gives
//   group                              levels unpacked at once, a multiple of 64: whole words at every width
//   Held, hold(flat)                   the first V::held entries in registers
//   Reg look_up(held, levels, width), gather(book, levels, width, n)    the next V::width values, of which n count
//   void store(out, value, n)          the first n lanes, or all of fewer, as float or double
//   std::size_t whole(row, n_levels, bits, held, width, out)    levels done in a way of V's own beforehand, whole groups
// and lives in an unnamed namespace of the including file, so every instance is that file's own.
#pragma once

#include "lowtide/ops/decode/decode.hpp"
#include "lowtide/ops/pack/pack.hpp"

namespace lowtide::decode_groups {

template <class V, bool InRegisters, typename T>
void look_up_groups(const std::uint64_t* row, std::size_t first, std::size_t n_levels, unsigned bits, const float* book,
                    std::size_t width, const typename V::Held* held, T* out) {
  std::uint8_t levels[V::group + V::width] = {};
  for (std::size_t j = first; j < n_levels; j += V::group) {
    const std::size_t n = n_levels - j < V::group ? n_levels - j : V::group, n_values = n * width;
    V::unpack(row + j / 64 * bits, n, bits, levels);
    for (std::size_t v = 0; v < n_values; v += V::width) {
      const std::uint8_t* some = levels + v / width;
      if constexpr (InRegisters)
        V::store(out + j * width + v, V::look_up(*held, some, width), n_values - v);
      else
        V::store(out + j * width + v, V::gather(book, some, width, n_values - v), n_values - v);
    }
  }
}

template <class V, typename T>
void decode(const std::uint64_t* row, std::size_t n_levels, unsigned bits, const float* book, std::size_t width,
            T* out) {
  const std::size_t n_entries = width << bits;
  if (n_entries > V::held) return look_up_groups<V, false>(row, 0, n_levels, bits, book, width, nullptr, out);
  float flat[V::held] = {};
  for (std::size_t v = 0; v < n_entries; ++v) flat[v] = book[v];
  const typename V::Held held = V::hold(flat);
  const std::size_t done = V::whole(row, n_levels / V::group * V::group, bits, held, width, out);
  look_up_groups<V, true>(row, done, n_levels, bits, book, width, &held, out);
}

}  // namespace lowtide::decode_groups
