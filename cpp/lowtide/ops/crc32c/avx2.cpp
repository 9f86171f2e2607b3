// crc32 of SSE4.2 takes 8 bytes with a latency of 3 cycles and a throughput of 1: three streams side by side keep it
// busy, 8 bytes a cycle, about what memory delivers. The streams are three neighboring parts of the data; a part's
// register is carried over the bytes of the next by tables ("append n zero bytes" is linear, four look-ups). Long parts
// make the joins cheap, short ones serve what is left; the tail goes through one stream, then byte by byte.
#include <nmmintrin.h>

#include "lowtide/ops/crc32c/crc32c.hpp"

namespace lowtide::avx2 {
namespace {

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

  std::uint64_t operator()(std::uint64_t state) const {
    return of[0][state & 255] ^ of[1][state >> 8 & 255] ^ of[2][state >> 16 & 255] ^ of[3][state >> 24 & 255];
  }
};

constexpr Shift over_long(long_part), over_short(short_part);

inline std::uint64_t word(const std::uint8_t* data) {
  std::uint64_t value;
  __builtin_memcpy(&value, data, 8);
  return value;
}

// Takes whole triples of parts off the front of the data.
template <std::size_t part>
inline std::uint64_t triples(std::uint64_t state, const Shift& over, const std::uint8_t*& data, std::size_t& n) {
  for (; n >= 3 * part; n -= 3 * part, data += 3 * part) {
    std::uint64_t second = 0, third = 0;
    for (std::size_t i = 0; i < part; i += 8) {
      state = _mm_crc32_u64(state, word(data + i));
      second = _mm_crc32_u64(second, word(data + part + i));
      third = _mm_crc32_u64(third, word(data + 2 * part + i));
    }
    state = over(over(state) ^ second) ^ third;
  }
  return state;
}

}  // namespace

std::uint32_t crc32c(std::uint32_t sum, const std::uint8_t* data, std::size_t n) {
  std::uint64_t state = ~sum;
  state = triples<long_part>(state, over_long, data, n);
  state = triples<short_part>(state, over_short, data, n);
  for (; n >= 8; n -= 8, data += 8) state = _mm_crc32_u64(state, word(data));
  for (; n > 0; --n, ++data) state = _mm_crc32_u8(static_cast<std::uint32_t>(state), *data);
  return ~static_cast<std::uint32_t>(state);
}

}  // namespace lowtide::avx2
