// vreduceps gives u - rint(u) in one instruction (0, not NaN, where u is infinite: the same level by the contract);
// borders and table of up to 15 entries are searched in registers with vpermps, longer ones with gathers. Two one-bit
// masks are interleaved with pdep. One bit is bound by the two vector ports, some 8 instructions for 32 levels by the
// parity of rint(2 u). Tail: the last few frequencies through a padded copy.
#include "lowtide/ops/encode/lanes.hpp"
#include "lowtide/ops/lanes_avx512.hpp"

namespace lowtide::avx512 {
namespace {

struct V : Lanes {
  static Reg even_fraction(Reg u) { return abs(_mm512_reduce_ps(u, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)); }

  static Int pick(const std::int32_t* table, Int at) { return _mm512_permutexvar_epi32(at, _mm512_load_si512(table)); }

  template <bool Even, int Steps>
  static Int search(Reg f, const LevelRule& rule) {
    const Reg borders = _mm512_load_ps(rule.borders);
    Int c = all_ints(0);
#pragma GCC unroll 4
    for (int size = 1 << Steps >> 1; size > 0; size >>= 1) {
      const Int at = add_ints(c, all_ints(static_cast<std::uint32_t>(size - 1)));
      c = encode_lanes::step<V, Even>(c, _mm512_permutexvar_ps(at, borders), f, size);
    }
    return pick(rule.table, c);
  }

  // Where u is beyond the border; for a quarter t is that of twice the phase.
  template <bool Quarter>
  static std::uint64_t beyond(Reg t, unsigned k, const BitRule& rule) {
    if (Quarter) {
      const Reg u = k == 0 ? t : add(t, all(2.0f * rule.shifts[k]));
      return _mm512_test_epi32_mask(_mm512_cvtps_epi32(u), all_ints(1));
    }
    return less(all(rule.border), even_fraction(add(t, all(rule.shifts[k]))));
  }

  template <unsigned Width, bool Quarter>
  static std::uint64_t word(const float* v, const float* scale, const float* offset, const BitRule& rule) {
    std::uint64_t bits[2] = {0, 0};
    for (std::size_t g = 0; g < 64 / Width; g += width) {
      Reg t = phases::phase<V>(v + g, scale + g, offset + g);
      if (Quarter) t = add(t, t);
      for (unsigned k = 0; k < Width; ++k) bits[k] |= beyond<Quarter>(t, k, rule) << g;
    }
    if (Width == 1) return bits[0];
    return _pdep_u64(bits[0], 0x5555555555555555u) | _pdep_u64(bits[1], 0xaaaaaaaaaaaaaaaau);
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

}  // namespace lowtide::avx512
