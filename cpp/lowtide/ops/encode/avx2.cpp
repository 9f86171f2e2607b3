// Borders and tables of up to 15 entries are searched in one or two registers with vpermps, longer ones with gathers;
// the permutations bind. One-bit masks are narrowed with packs and read off with movemask, some 12 instructions for 16
// levels by the parity of rint(2 u), whose lowest bit is shifted to the sign; pdep is not used, since some processors of
// this level have it in microcode. Tail: the last few frequencies through a padded copy.
#include "lowtide/ops/encode/lanes.hpp"
#include "lowtide/ops/lanes_avx2.hpp"

namespace lowtide::avx2 {
namespace {

struct V : Lanes {
  static Reg even_fraction(Reg u) { return abs(sub(u, rint(u))); }

  // Entry `at` of a table of 8 << (Steps == 4) floats; `upper` says by its sign bit which eight.
  template <int Steps>
  static Reg look_up(const float* table, Int at, Int upper) {
    const Reg low = _mm256_permutevar8x32_ps(_mm256_load_ps(table), at);
    if (Steps < 4) return low;
    const Reg high = _mm256_permutevar8x32_ps(_mm256_load_ps(table + 8), at);
    return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(upper));
  }
  static Int pick(const std::int32_t* table, Int at) {
    return bits_of(look_up<4>(reinterpret_cast<const float*>(table), at, shift_left<28>(at)));
  }

  template <bool Even, int Steps>
  static Int search(Reg f, const LevelRule& rule) {
    Int c = all_ints(0), upper = c;
    if (Steps == 4) c = encode_lanes::step<V, Even>(c, all(rule.borders[7]), f, 8), upper = shift_left<28>(c);
#pragma GCC unroll 3
    for (int size = Steps == 2 ? 2 : 4; size > 0; size >>= 1) {
      const Int at = add_ints(c, all_ints(static_cast<std::uint32_t>(size - 1)));
      c = encode_lanes::step<V, Even>(c, look_up<Steps>(rule.borders, at, upper), f, size);
    }
    return bits_of(look_up<Steps>(reinterpret_cast<const float*>(rule.table), c, upper));
  }

  // By its sign bit, where u is beyond the border; for a quarter t is that of twice the phase.
  template <bool Quarter>
  static Int beyond(Reg t, unsigned k, const BitRule& rule) {
    if (Quarter) {
      const Reg u = k == 0 ? t : add(t, all(2.0f * rule.shifts[k]));
      return shift_left<31>(_mm256_cvtps_epi32(u));
    }
    return bits_of(less(all(rule.border), even_fraction(add(t, all(rule.shifts[k])))));
  }

  // Masks of 32 frequencies to bytes; 32-bit group g of the low half holds 4g' of vector g, of the high half 4 more.
  static Int narrow(const Int (&m)[4]) {
    return _mm256_packs_epi16(_mm256_packs_epi32(m[0], m[1]), _mm256_packs_epi32(m[2], m[3]));
  }
  static std::uint64_t read_off(Int bytes) { return static_cast<std::uint32_t>(_mm256_movemask_epi8(bytes)); }

  // The bits of 32 frequencies: 32 of them for width 1, 64 interleaved for width 2.
  template <unsigned Width, bool Quarter>
  static std::uint64_t bits32(const float* v, const float* scale, const float* offset, const BitRule& rule) {
    Int m[2][4];
    for (std::size_t g = 0; g < 4; ++g) {
      Reg t = phases::phase<V>(v + g * width, scale + g * width, offset + g * width);
      if (Quarter) t = add(t, t);
      for (unsigned k = 0; k < Width; ++k) m[k][g] = beyond<Quarter>(t, k, rule);
    }
    const Int first = narrow(m[0]);
    if (Width == 1) return read_off(_mm256_permutevar8x32_epi32(first, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
    const Int second = narrow(m[Width - 1]);
    const Int low = _mm256_permute4x64_epi64(_mm256_unpacklo_epi8(first, second), 0xd8);
    const Int high = _mm256_permute4x64_epi64(_mm256_unpackhi_epi8(first, second), 0xd8);
    return read_off(low) | read_off(high) << 32;
  }

  template <unsigned Width, bool Quarter>
  static std::uint64_t word(const float* v, const float* scale, const float* offset, const BitRule& rule) {
    const std::uint64_t bits = bits32<Width, Quarter>(v, scale, offset, rule);
    return Width == 2 ? bits : bits | bits32<Width, Quarter>(v + 32, scale + 32, offset + 32, rule) << 32;
  }
};

}  // namespace

void encode_levels(const float* v, std::size_t n, const float* scale, const float* offset, const LevelRule& rule,
                   std::uint8_t* levels) {
  encode_lanes::encode_levels<V>(v, n, scale, offset, rule, levels);
}

void encode_bits(const float* v, std::size_t n, const float* scale, const float* offset, const BitRule& rule,
                 std::size_t n_levels, std::uint64_t* row) {
  encode_lanes::encode_bits<V>(v, n, scale, offset, rule, n_levels, row);
}

}  // namespace lowtide::avx2
