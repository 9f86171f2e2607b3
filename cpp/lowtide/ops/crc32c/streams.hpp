// crc32c by an instruction that takes 8 bytes, with a latency of some 3 cycles and a throughput of 1, written once for
// all instruction sets that have one: three streams side by side keep it busy, 8 bytes a cycle, about what memory
// delivers. The streams are three neighboring parts of the data; a part's register is carried over the bytes of the next
// by tables ("append n zero bytes" is linear, four look-ups). Long parts make the joins cheap, short ones serve what is
// left; the tail goes through one stream, then byte by byte.
//
// V, which lives in an unnamed namespace of the including file, has State, word(state, 8 bytes) and byte(state, one).
#pragma once

#include "lowtide/ops/crc32c/crc32c.hpp"

namespace lowtide::crc32c_streams {

constexpr std::size_t long_part = 4096, short_part = 256;

// The register after n zero bytes, n a power of two of at least 1, for each byte of the register.
struct Shift {
  std::uint32_t of[4][256];

  constexpr explicit Shift(std::size_t n) : of{} {
    std::uint32_t column[32] = {};  // images of the 32 single bits: first under one zero bit, then squared
    for (int i = 0; i < 32; ++i) column[i] = i == 0 ? 0x82f63b78u : 1u << (i - 1);
    for (std::size_t bits = 1; bits < 8 * n; bits *= 2) {
      std::uint32_t squared[32] = {};
      for (int i = 0; i < 32; ++i) squared[i] = image(column, column[i]);
      for (int i = 0; i < 32; ++i) column[i] = squared[i];
    }
    for (int k = 0; k < 4; ++k)
      for (std::uint32_t b = 0; b < 256; ++b) of[k][b] = image(column, b << 8 * k);
  }

  static constexpr std::uint32_t image(const std::uint32_t* column, std::uint32_t value) {
    std::uint32_t sum = 0;
    for (int i = 0; value != 0; ++i, value >>= 1)
      if (value & 1) sum ^= column[i];
    return sum;
  }
};

inline constexpr Shift over_long(long_part), over_short(short_part);

template <class V>
struct Streams {
  using State = typename V::State;

  static std::uint32_t sum(std::uint32_t before, const std::uint8_t* data, std::size_t n) {
    State state = static_cast<std::uint32_t>(~before);
    state = triples<long_part>(state, over_long, data, n);
    state = triples<short_part>(state, over_short, data, n);
    for (; n >= 8; n -= 8, data += 8) state = V::word(state, word_at(data));
    for (; n > 0; --n, ++data) state = V::byte(state, *data);
    return ~static_cast<std::uint32_t>(state);
  }

 private:
  static State shifted(const Shift& over, State state) {
    return over.of[0][state & 255] ^ over.of[1][state >> 8 & 255] ^ over.of[2][state >> 16 & 255] ^
           over.of[3][state >> 24 & 255];
  }

  static std::uint64_t word_at(const std::uint8_t* data) {
    std::uint64_t value;
    __builtin_memcpy(&value, data, 8);
    return value;
  }

  // Takes whole triples of parts off the front of the data.
  template <std::size_t part>
  static State triples(State state, const Shift& over, const std::uint8_t*& data, std::size_t& n) {
    for (; n >= 3 * part; n -= 3 * part, data += 3 * part) {
      State second = 0, third = 0;
      for (std::size_t i = 0; i < part; i += 8) {
        state = V::word(state, word_at(data + i));
        second = V::word(second, word_at(data + part + i));
        third = V::word(third, word_at(data + 2 * part + i));
      }
      state = shifted(over, shifted(over, state) ^ second) ^ third;
    }
    return state;
  }
};

}  // namespace lowtide::crc32c_streams
