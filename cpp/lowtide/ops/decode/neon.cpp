// Codebooks of up to 32 entries lie in eight registers by bytes: four tbl and eight zip look 16 values up; larger ones, at
// most 2 kB and always in L1, take a load a value. One-bit levels are not unpacked: bits are tested in their lanes, and
// bsl chooses. Binds: the permutations, for one bit the stores. The tail of a row goes through a copy.
#include "lowtide/ops/bytes_neon.hpp"
#include "lowtide/ops/decode/groups.hpp"

namespace lowtide::neon {
namespace {

struct V {
  struct Reg {
    float32x4_t part[4];
  };
  static constexpr std::size_t width = 16, held = 32, group = 128;
  struct Held {
    FloatTable low, high;
  };

  static void unpack(const std::uint64_t* row, std::size_t n, unsigned bits, std::uint8_t* levels) {
    neon::unpack(row, n, bits, levels);
  }
  static Held hold(const float* flat) { return {FloatTable(flat), FloatTable(flat + 16)}; }

  static Reg look_up(const Held& book, uint8x16_t at) {
    const auto plane = [&](int b) { return vqtbl2q_u8({{book.low.plane.val[b], book.high.plane.val[b]}}, at); };
    Reg found;
    FloatTable::join(plane(0), plane(1), plane(2), plane(3), found.part);
    return found;
  }
  static Reg look_up(const Held& book, const std::uint8_t* levels, std::size_t per_level) {
    if (per_level == 1) return look_up(book, vld1q_u8(levels));
    const uint8x8_t once = vld1_u8(levels);
    const uint8x16_t first = vshlq_n_u8(vcombine_u8(once, once), 1);
    return look_up(book, vzip1q_u8(first, vorrq_u8(first, vdupq_n_u8(1))));
  }
  // Levels past the last one are of a former group, or 0: any of them may be looked up.
  static Reg gather(const float* book, const std::uint8_t* levels, std::size_t per_level, std::size_t) {
    Reg found;
    if (per_level == 1) {
      for (int q = 0; q < 4; ++q, levels += 4) {
        float32x4_t four = vld1q_dup_f32(book + levels[0]);
        four = vld1q_lane_f32(book + levels[1], four, 1);
        four = vld1q_lane_f32(book + levels[2], four, 2);
        found.part[q] = vld1q_lane_f32(book + levels[3], four, 3);
      }
    } else {
      for (int q = 0; q < 4; ++q, levels += 2)
        found.part[q] = vcombine_f32(vld1_f32(book + 2 * levels[0]), vld1_f32(book + 2 * levels[1]));
    }
    return found;
  }

  static void store(float* out, const Reg& v, std::size_t n) {
    if (n < width) return store_some(out, v, n);
    for (int q = 0; q < 4; ++q) vst1q_f32(out + 4 * q, v.part[q]);
  }
  static void store(double* out, const Reg& v, std::size_t n) {
    if (n < width) return store_some(out, v, n);
    for (int q = 0; q < 4; ++q) {
      vst1q_f64(out + 4 * q, vcvt_f64_f32(vget_low_f32(v.part[q])));
      vst1q_f64(out + 4 * q + 2, vcvt_high_f64_f32(v.part[q]));
    }
  }
  template <typename T>
  static void store_some(T* out, const Reg& v, std::size_t n) {
    float all[width];
    for (int q = 0; q < 4; ++q) vst1q_f32(all + 4 * q, v.part[q]);
    for (std::size_t i = 0; i < n; ++i) out[i] = all[i];
  }

  template <typename T>
  static std::size_t whole(const std::uint64_t* row, std::size_t n_levels, unsigned bits, const Held& book,
                           std::size_t per_level, T* out) {
    if (bits != 1 || per_level != 1) return 0;
    const float32x4_t zero = look_up(book, vdupq_n_u8(0)).part[0], one = look_up(book, vdupq_n_u8(1)).part[0];
    const uint32x4_t place[4] = {{1, 2, 4, 8}, {16, 32, 64, 128}, {256, 512, 1024, 2048}, {4096, 8192, 16384, 32768}};
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(row);
    for (std::size_t j = 0; j < n_levels; j += 16) {
      std::uint16_t some;
      __builtin_memcpy(&some, bytes + j / 8, 2);
      const uint32x4_t bits16 = vdupq_n_u32(some);
      Reg found;
      for (int q = 0; q < 4; ++q) found.part[q] = vbslq_f32(vtstq_u32(bits16, place[q]), one, zero);
      store(out + j, found, width);
    }
    return n_levels;
  }
};

}  // namespace

const DecodeOp decode = {decode_groups::decode<V, float>, decode_groups::decode<V, double>};

}  // namespace lowtide::neon
