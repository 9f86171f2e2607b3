#include "lowtide/ops/crc32c/crc32c.hpp"

namespace lowtide::scalar {
namespace {

// of[k][b]: the register after the byte b and k zero bytes, from zero; eight bytes are then eight look-ups apart from
// each other, where the plain loop waits for one look-up a byte.
struct Tables {
  std::uint32_t of[8][256];

  constexpr Tables() : of{} {
    for (std::uint32_t b = 0; b < 256; ++b) {
      std::uint32_t value = b;
      for (int bit = 0; bit < 8; ++bit) value = value & 1 ? value >> 1 ^ 0x82f63b78u : value >> 1;
      of[0][b] = value;
    }
    for (int k = 1; k < 8; ++k)
      for (int b = 0; b < 256; ++b) of[k][b] = of[k - 1][b] >> 8 ^ of[0][of[k - 1][b] & 255];
  }
};

constexpr Tables tables;

}  // namespace

std::uint32_t crc32c(std::uint32_t sum, const std::uint8_t* data, std::size_t n) {
  std::uint32_t state = ~sum;
  for (; n >= 8; n -= 8, data += 8) {
    std::uint32_t next = 0;
    for (int i = 0; i < 4; ++i) next ^= tables.of[7 - i][(data[i] ^ state >> 8 * i) & 255];
    for (int i = 4; i < 8; ++i) next ^= tables.of[7 - i][data[i]];
    state = next;
  }
  for (; n > 0; --n, ++data) state = state >> 8 ^ tables.of[0][(*data ^ state) & 255];
  return ~state;
}

}  // namespace lowtide::scalar
