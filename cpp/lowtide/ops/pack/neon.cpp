// ld4 takes levels apart by their place in a byte, sli puts them together and drops what is above their bits; ushr and
// and take them out again, st4 brings them in order. 1 and 3 bits need eight places, two ld4 or st4 and a round of uzp or
// zip; bytes of 3-bit levels go through st3 and ld3. Binds: the loads and stores that take apart. The last levels that
// fill no block go through a padded copy of one.
#include <arm_neon.h>

#include "lowtide/ops/pack/pack.hpp"

namespace lowtide::neon {
namespace {

constexpr std::size_t kBlock = 128;  // levels: 16 Bits bytes, whole words at every width

// Place p of eight levels, of sixteen eights.
struct Eights {
  uint8x16_t place[8];
};

inline Eights apart(const std::uint8_t* levels) {
  const uint8x16x4_t a = vld4q_u8(levels), b = vld4q_u8(levels + 64);
  Eights e;
#pragma GCC unroll 4
  for (int p = 0; p < 4; ++p) {
    e.place[p] = vuzp1q_u8(a.val[p], b.val[p]);
    e.place[p + 4] = vuzp2q_u8(a.val[p], b.val[p]);
  }
  return e;
}

inline void together(const Eights& e, std::uint8_t* levels) {
  uint8x16x4_t a, b;
#pragma GCC unroll 4
  for (int p = 0; p < 4; ++p) {
    a.val[p] = vzip1q_u8(e.place[p], e.place[p + 4]);
    b.val[p] = vzip2q_u8(e.place[p], e.place[p + 4]);
  }
  vst4q_u8(levels, a);
  vst4q_u8(levels + 64, b);
}

template <unsigned Bits>
inline void pack_block(const std::uint8_t* levels, std::uint8_t* bytes) {
  if constexpr (Bits == 1) {
    const Eights e = apart(levels);
    const uint8x16_t low = vsliq_n_u8(vsliq_n_u8(vsliq_n_u8(e.place[0], e.place[1], 1), e.place[2], 2), e.place[3], 3);
    const uint8x16_t five = vsliq_n_u8(vsliq_n_u8(low, e.place[4], 4), e.place[5], 5);
    vst1q_u8(bytes, vsliq_n_u8(vsliq_n_u8(five, e.place[6], 6), e.place[7], 7));
  } else if constexpr (Bits == 2) {
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      const uint8x16x4_t x = vld4q_u8(levels + 64 * h);
      const uint8x16_t low = vsliq_n_u8(x.val[0], x.val[1], 2);
      vst1q_u8(bytes + 16 * h, vsliq_n_u8(vsliq_n_u8(low, x.val[2], 4), x.val[3], 6));
    }
  } else if constexpr (Bits == 3) {
    const Eights e = apart(levels);
    const uint8x16_t first = vsliq_n_u8(vsliq_n_u8(e.place[0], e.place[1], 3), e.place[2], 6);
    const uint8x16_t middle = vsliq_n_u8(vsliq_n_u8(vshrq_n_u8(e.place[2], 2), e.place[3], 1), e.place[4], 4);
    const uint8x16_t last = vsliq_n_u8(vsliq_n_u8(vshrq_n_u8(e.place[5], 1), e.place[6], 2), e.place[7], 5);
    vst3q_u8(bytes, {{first, vsliq_n_u8(middle, e.place[5], 7), last}});
  } else if constexpr (Bits == 4) {
#pragma GCC unroll 4
    for (int h = 0; h < 4; ++h) {
      const uint8x16x2_t x = vld2q_u8(levels + 32 * h);
      vst1q_u8(bytes + 16 * h, vsliq_n_u8(x.val[0], x.val[1], 4));
    }
  } else {
#pragma GCC unroll 8
    for (int h = 0; h < 8; ++h) vst1q_u8(bytes + 16 * h, vld1q_u8(levels + 16 * h));
  }
}

template <unsigned Bits>
inline void unpack_block(const std::uint8_t* bytes, std::uint8_t* levels) {
  const uint8x16_t mask = vdupq_n_u8((1u << Bits) - 1);
  if constexpr (Bits == 1) {
    const uint8x16_t x = vld1q_u8(bytes);
    together({{vandq_u8(x, mask), vandq_u8(vshrq_n_u8(x, 1), mask), vandq_u8(vshrq_n_u8(x, 2), mask),
               vandq_u8(vshrq_n_u8(x, 3), mask), vandq_u8(vshrq_n_u8(x, 4), mask), vandq_u8(vshrq_n_u8(x, 5), mask),
               vandq_u8(vshrq_n_u8(x, 6), mask), vshrq_n_u8(x, 7)}},
             levels);
  } else if constexpr (Bits == 2) {
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) {
      const uint8x16_t x = vld1q_u8(bytes + 16 * h);
      vst4q_u8(levels + 64 * h, {{vandq_u8(x, mask), vandq_u8(vshrq_n_u8(x, 2), mask), vandq_u8(vshrq_n_u8(x, 4), mask),
                                  vshrq_n_u8(x, 6)}});
    }
  } else if constexpr (Bits == 3) {
    const uint8x16x3_t x = vld3q_u8(bytes);
    const uint8x16_t third = vsliq_n_u8(vshrq_n_u8(x.val[0], 6), x.val[1], 2);
    const uint8x16_t sixth = vsliq_n_u8(vshrq_n_u8(x.val[1], 7), x.val[2], 1);
    together({{vandq_u8(x.val[0], mask), vandq_u8(vshrq_n_u8(x.val[0], 3), mask), vandq_u8(third, mask),
               vandq_u8(vshrq_n_u8(x.val[1], 1), mask), vandq_u8(vshrq_n_u8(x.val[1], 4), mask), vandq_u8(sixth, mask),
               vandq_u8(vshrq_n_u8(x.val[2], 2), mask), vshrq_n_u8(x.val[2], 5)}},
             levels);
  } else if constexpr (Bits == 4) {
#pragma GCC unroll 4
    for (int h = 0; h < 4; ++h) {
      const uint8x16_t x = vld1q_u8(bytes + 16 * h);
      vst2q_u8(levels + 32 * h, {{vandq_u8(x, mask), vshrq_n_u8(x, 4)}});
    }
  } else {
#pragma GCC unroll 8
    for (int h = 0; h < 8; ++h) vst1q_u8(levels + 16 * h, vld1q_u8(bytes + 16 * h));
  }
}

template <unsigned Bits>
void pack_as(const std::uint8_t* levels, std::size_t n_levels, std::uint64_t* row) {
  auto* bytes = reinterpret_cast<std::uint8_t*>(row);
  for (; n_levels >= kBlock; n_levels -= kBlock, levels += kBlock, bytes += 16 * Bits) pack_block<Bits>(levels, bytes);
  if (n_levels == 0) return;
  std::uint8_t last[kBlock] = {}, packed[16 * Bits];
  for (std::size_t j = 0; j < n_levels; ++j) last[j] = levels[j];
  pack_block<Bits>(last, packed);
  for (std::size_t b = 0; b < bytes_per_row(n_levels, Bits); ++b) bytes[b] = packed[b];
}

template <unsigned Bits>
void unpack_as(const std::uint64_t* row, std::size_t n_levels, std::uint8_t* levels) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(row);
  for (; n_levels >= kBlock; n_levels -= kBlock, levels += kBlock, bytes += 16 * Bits)
    unpack_block<Bits>(bytes, levels);
  if (n_levels == 0) return;
  std::uint8_t last[kBlock], packed[16 * Bits] = {};
  for (std::size_t b = 0; b < bytes_per_row(n_levels, Bits); ++b) packed[b] = bytes[b];
  unpack_block<Bits>(packed, last);
  for (std::size_t j = 0; j < n_levels; ++j) levels[j] = last[j];
}

}  // namespace

void pack(const std::uint8_t* levels, std::size_t n_levels, unsigned bits, std::uint64_t* row) {
  switch (bits) {
    case 1: return pack_as<1>(levels, n_levels, row);
    case 2: return pack_as<2>(levels, n_levels, row);
    case 3: return pack_as<3>(levels, n_levels, row);
    case 4: return pack_as<4>(levels, n_levels, row);
    default: return pack_as<8>(levels, n_levels, row);
  }
}

void unpack(const std::uint64_t* row, std::size_t n_levels, unsigned bits, std::uint8_t* levels) {
  switch (bits) {
    case 1: return unpack_as<1>(row, n_levels, levels);
    case 2: return unpack_as<2>(row, n_levels, levels);
    case 3: return unpack_as<3>(row, n_levels, levels);
    case 4: return unpack_as<4>(row, n_levels, levels);
    default: return unpack_as<8>(row, n_levels, levels);
  }
}

}  // namespace lowtide::neon
