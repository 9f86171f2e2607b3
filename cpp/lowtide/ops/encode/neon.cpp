// frintn and fabd give |u - rint(u)|, facgt compares it with a border: three instructions for four one-bit levels, which
// are narrowed to bytes with uzp1 and read off with addp, 64 at a time. Borders and tables of up to 15 entries are
// searched in registers with tbl, by the places of their bytes; longer ones lane by lane. Binds: the vector pipes. Tail:
// the last few frequencies through a padded copy.
#include "lowtide/ops/encode/lanes.hpp"
#include "lowtide/ops/lanes_neon.hpp"

namespace lowtide::neon {
namespace {

struct V : Lanes {
  [[gnu::always_inline]] static Reg even_fraction(const Reg& u) {
    return each([](auto x) { return vabdq_f32(x, vrndnq_f32(x)); }, u);
  }

  [[gnu::always_inline]] static Int pick(const std::int32_t* table, const Int& at) {
    return bits_of(Lanes::pick(reinterpret_cast<const float*>(table), at));
  }

  // c is kept as the places of four bytes, so that it is an index of tbl as it is.
  template <bool Even, int Steps>
  [[gnu::always_inline]] static Int search(const Reg& f, const LevelRule& rule) {
    constexpr int entries = 1 << Steps;
    constexpr std::uint32_t one = 0x04040404;
    const auto *borders = reinterpret_cast<const std::uint8_t*>(rule.borders),
               *table = reinterpret_cast<const std::uint8_t*>(rule.table);
    const Reg middle = all(rule.borders[entries / 2 - 1]);
    Int c = encode_lanes::step<V, Even>(all_ints(0x03020100), middle, f, entries / 2 * one);
#pragma GCC unroll 3
    for (int size = entries / 4; size > 0; size >>= 1) {
      const Int at = add_ints(c, all_ints(static_cast<std::uint32_t>(size - 1) * one));
      const Reg border = each(
          [=](uint32x4_t i) { return vreinterpretq_f32_u8(Lanes::look_up<entries>(borders, vreinterpretq_u8_u32(i))); },
          at);
      c = encode_lanes::step<V, Even>(c, border, f, size * one);
    }
    return each(
        [=](uint32x4_t i) { return vreinterpretq_u32_u8(Lanes::look_up<entries>(table, vreinterpretq_u8_u32(i))); }, c);
  }

  // Bytes of ones where u is beyond the border: a fraction that is not a number is beyond none.
  template <bool Quarter>
  [[gnu::always_inline]] static uint8x16_t beyond(const Reg& t, unsigned k, const BitRule& rule) {
    const Reg u = Quarter && k == 0 ? t : add(t, all(rule.shifts[k]));
    const float32x4_t border = vdupq_n_f32(rule.border);
    return low_bytes(each([=](auto x) { return vcagtq_f32(vsubq_f32(x, vrndnq_f32(x)), border); }, u));
  }

  template <unsigned Width, bool Quarter>
  [[gnu::always_inline]] static std::uint64_t word(const float* v, const float* scale, const float* offset,
                                                   const BitRule& rule) {
    const auto turns = [=](std::size_t g) { return phases::phase<V>(v + g, scale + g, offset + g); };
    if constexpr (Width == 1) {
      return bits_of_bytes(beyond<Quarter>(turns(0), 0, rule), beyond<Quarter>(turns(16), 0, rule),
                           beyond<Quarter>(turns(32), 0, rule), beyond<Quarter>(turns(48), 0, rule));
    } else {
      const Reg low = turns(0), high = turns(16);
      const uint8x16_t a = beyond<Quarter>(low, 0, rule), b = beyond<Quarter>(low, 1, rule);
      const uint8x16_t c = beyond<Quarter>(high, 0, rule), d = beyond<Quarter>(high, 1, rule);
      return bits_of_bytes(vzip1q_u8(a, b), vzip2q_u8(a, b), vzip1q_u8(c, d), vzip2q_u8(c, d));
    }
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

}  // namespace lowtide::neon
