// Sums: ldp, add and sub (fadd, fsub): eight registers hold a line of 16-bit sums, sixteen one of 32 bits, all of the 64
// rows. Binds: the two loads of a cycle, and the wrong guess at the end of each list, which long lines make rare.
// Trits: sixteen rows of an output are compared, and the masks narrowed to bytes by uzp1 before anything else is done to
// them; sli puts four outputs into a byte, and zip eight bytes into words. Binds: the vector pipes. No tail.
#include <arm_neon.h>

#include "lowtide/ops/ternary/lanes.hpp"

namespace lowtide::neon {
namespace {

struct Level {
  static constexpr int bytes = 16;
};

// Sixteen sums.
template <typename T>
struct Sixteen {
  typedef T Reg __attribute__((vector_size(16)));
  static constexpr int n = sizeof(T);
  Reg part[n];

  explicit Sixteen(const T* from) {
#pragma GCC unroll 4
    for (int i = 0; i < n; ++i) part[i] = *reinterpret_cast<const Reg*>(from + i * 16 / n);
  }

  // A byte each, all ones or zero.
  uint8x16_t above(T bound) const {
    return narrowed([&](int i) { return reinterpret_cast<uint16x8_t>(part[i] > bound); });
  }
  uint8x16_t below(T bound) const {
    return narrowed([&](int i) { return reinterpret_cast<uint16x8_t>(part[i] < bound); });
  }

 private:
  template <class Mask>
  static uint8x16_t narrowed(Mask mask) {
    if constexpr (n == 2)
      return even_bytes(mask(0), mask(1));
    else
      return even_bytes(vuzp1q_u16(mask(0), mask(1)), vuzp1q_u16(mask(2), mask(3)));
  }
  static uint8x16_t even_bytes(uint16x8_t a, uint16x8_t b) {
    return vuzp1q_u8(vreinterpretq_u8_u16(a), vreinterpretq_u8_u16(b));
  }
};

// Bytes 0 to 7 of sixteen words, a register each, to the words.
inline void put_words(const uint8x16_t (&byte)[8], std::uint64_t* words) {
  uint16x8_t pair[8];
  uint32x4_t four[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    pair[i] = vreinterpretq_u16_u8(vzip1q_u8(byte[2 * i], byte[2 * i + 1]));
    pair[4 + i] = vreinterpretq_u16_u8(vzip2q_u8(byte[2 * i], byte[2 * i + 1]));
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    four[2 * i] = vreinterpretq_u32_u16(vzip1q_u16(pair[2 * i], pair[2 * i + 1]));
    four[2 * i + 1] = vreinterpretq_u32_u16(vzip2q_u16(pair[2 * i], pair[2 * i + 1]));
  }
  // four: words 0 to 3, lower halves; 4 to 7; the same, upper halves; then words 8 to 15.
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const uint32x4_t low = four[i / 2 * 4 + i % 2], high = four[i / 2 * 4 + i % 2 + 2];
    vst1q_u64(words + 4 * i, vreinterpretq_u64_u32(vzip1q_u32(low, high)));
    vst1q_u64(words + 4 * i + 2, vreinterpretq_u64_u32(vzip2q_u32(low, high)));
  }
}

template <typename T>
void trits(const T* sums, std::size_t n_outputs, const T* upper, const T* lower, bool even, std::uint64_t* words) {
  const uint8x16_t plus = vdupq_n_u8(1), minus = vdupq_n_u8(even ? 1 : 2);
  for (std::size_t r = 0; r < kTernaryRows; r += 16) {
    uint8x16_t byte[8];
    for (std::size_t b = 0; b < 8; ++b) {
      const std::size_t first = 4 * b, last = n_outputs < first + 4 ? n_outputs : first + 4;
      uint8x16_t found = vdupq_n_u8(0);
      for (std::size_t j = last; j-- > first;) {
        const Sixteen<T> some(sums + j * kTernaryRows + r);
        const uint8x16_t trit = vbslq_u8(some.above(upper[j]), plus, vandq_u8(some.below(lower[j]), minus));
        found = vsliq_n_u8(trit, found, 2);
      }
      byte[b] = found;
    }
    put_words(byte, words + r);
  }
}

template <typename T>
constexpr TernaryOp<T> op = {ternary_lanes::Lanes<Level, T>::sums, trits<T>};

}  // namespace

const TernaryOps ternary = {op<std::int16_t>, op<std::int32_t>, op<float>};

}  // namespace lowtide::neon
