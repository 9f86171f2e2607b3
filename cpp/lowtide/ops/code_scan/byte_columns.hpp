// Bytes of rows turned into bytes of columns over a register type V, written once for all instruction sets: transposes
// of 16 x 16 bytes, V::bytes / 16 of them side by side. V lives in an unnamed namespace of the including file, so every
// instance is that file's own.
#pragma once

#include "lowtide/layout.hpp"

namespace lowtide::byte_columns {

// One round: byte i of the pair (x[j], x[j + 8]) goes next to its partner; four rounds are a transpose.
template <class V>
inline void zip(const typename V::Reg (&x)[16], typename V::Reg (&out)[16]) {
#pragma GCC unroll 8
  for (int j = 0; j < 8; ++j) {
    out[2 * j] = V::zip_low(x[j], x[j + 8]);
    out[2 * j + 1] = V::zip_high(x[j], x[j + 8]);
  }
}

// Calls put(b, register) for b < n_bytes: byte b of V::bytes rows. n_bytes is a multiple of 8; the last 8 bytes of a row
// are loaded alone. V::load_rows takes 16 bytes, or 8, of rows i, i + 16, ... as its lanes.
template <class V, class Put>
inline void each_column(const std::uint8_t* const (&row)[V::bytes], std::size_t n_bytes, Put put) {
  for (std::size_t b = 0; b < n_bytes; b += 16) {
    const bool whole = b + 16 <= n_bytes;
    typename V::Reg x[16], y[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) x[i] = V::load_rows(row, i, b, whole);
    zip<V>(x, y);
    zip<V>(y, x);
    zip<V>(x, y);
    zip<V>(y, x);
#pragma GCC unroll 16
    for (std::size_t i = 0; i < 16; ++i)
      if (whole || i < 8) put(b + i, x[i]);
  }
}

}  // namespace lowtide::byte_columns
