// One to four float32 columns have rows on the lanes: a table of sixteen floats lies in four registers by bytes, so that
// four tbl and eight zip look 16 rows up; four fadd take them to the sums. Sixteen instructions for 16 rows of a nibble,
// where a load and an addition a row, with what finds the entry, take five times as many. Binds: the pipes that
// permute. From five columns on, and from two of float64, columns on the lanes: a load and an addition for a nibble and 4 or
// 2 columns. One column of float64 goes by bytes, a load and an addition each. Binds: the loads.
#include "lowtide/ops/bytes_neon.hpp"
#include "lowtide/ops/code_matvec/code_matvec.hpp"
#include "lowtide/ops/code_matvec/lanes.hpp"

namespace lowtide::neon {
namespace {

namespace p = product_lanes;

struct Single {
  using Value = float;
  using Reg = float32x4_t;
  static constexpr std::size_t width = 4;
  static Reg zero() { return vdupq_n_f32(0.0f); }
  static Reg load(const float* q) { return vld1q_f32(q); }
  static void store(float* q, Reg a) { vst1q_f32(q, a); }
  static Reg add(Reg a, Reg b) { return vaddq_f32(a, b); }
  static Reg add_scaled(Reg sum, Reg a, float b) { return vfmaq_n_f32(sum, a, b); }
  // Adds the first n lanes to memory, or all if there are fewer.
  static void add_to(float* q, std::size_t n, Reg a) {
    if (n >= width) return store(q, add(load(q), a));
    const float more[width] = {a[0], a[1], a[2], a[3]};
    for (std::size_t i = 0; i < n; ++i) q[i] += more[i];
  }
};

struct Double {
  using Value = double;
  using Reg = float64x2_t;
  static constexpr std::size_t width = 2;
  static Reg zero() { return vdupq_n_f64(0.0); }
  static Reg load(const double* q) { return vld1q_f64(q); }
  static void store(double* q, Reg a) { vst1q_f64(q, a); }
  static Reg add(Reg a, Reg b) { return vaddq_f64(a, b); }
  static Reg add_scaled(Reg sum, Reg a, double b) { return vfmaq_n_f64(sum, a, b); }
  static void add_to(double* q, std::size_t n, Reg a) {
    if (n >= width) return store(q, add(load(q), a));
    *q += a[0];
  }
};

// Sixteen rows; an index is a byte of each, of which the lower nibble counts.
struct SingleRows {
  using Value = float;
  struct Reg {
    float32x4_t part[4];
  };
  using Index = uint8x16_t;
  using Table = FloatTable;
  static constexpr std::size_t width = 16;
  static constexpr std::size_t parts = 8;  // bytes of a word
  static constexpr int groups(int n_columns) { return n_columns == 1 ? 2 : 1; }
  static Reg zero() { return {}; }
  static Reg load(const float* q) { return {{vld1q_f32(q), vld1q_f32(q + 4), vld1q_f32(q + 8), vld1q_f32(q + 12)}}; }
  static void store(float* q, const Reg& a) {
    for (int i = 0; i < 4; ++i) vst1q_f32(q + 4 * i, a.part[i]);
  }
  static Reg add(const Reg& a, const Reg& b) {
    return {{vaddq_f32(a.part[0], b.part[0]), vaddq_f32(a.part[1], b.part[1]), vaddq_f32(a.part[2], b.part[2]),
             vaddq_f32(a.part[3], b.part[3])}};
  }
  static Table table(const float* q) { return Table(q); }
  static Reg look_up(const Table& t, Index nibbles) {
    Reg found;
    t.find(Bytes::low_nibbles(nibbles), found.part);
    return found;
  }
  static Index next(Index nibbles) { return Bytes::high_nibbles(nibbles); }
  // Byte `part` of the words of sixteen rows.
  static Index nibbles(const std::uint64_t* words, std::size_t part) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(words);
    const uint8x16_t every = {0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120};
    const uint8x16_t low = vaddq_u8(every, vdupq_n_u8(static_cast<std::uint8_t>(part)));
    const uint8x16_t high = vsubq_u8(low, vdupq_n_u8(64));  // places of the first half wrap to beyond the table
    return vqtbx4q_u8(vqtbl4q_u8(vld1q_u8_x4(bytes), low), vld1q_u8_x4(bytes + 64), high);
  }
};

struct Forms {
  static MatvecOp<float> of(std::size_t n_columns, float) {
    static constexpr MatvecOp<float> few[4] = {p::by_rows<SingleRows, 1>, p::by_rows<SingleRows, 2>,
                                               p::by_rows<SingleRows, 3>, p::by_rows<SingleRows, 4>};
    static constexpr MatvecOp<float> more[3] = {p::by_columns<Single, 2>, p::by_columns<Single, 3>,
                                                p::by_columns<Single, 4>};
    return n_columns <= 4 ? few[n_columns - 1] : more[(n_columns - 5) / 4];
  }

  static MatvecOp<double> of(std::size_t n_columns, double) {
    static constexpr MatvecOp<double> forms[8] = {
        p::by_columns<Double, 1>, p::by_columns<Double, 2>, p::by_columns<Double, 3>, p::by_columns<Double, 4>,
        p::by_columns<Double, 5>, p::by_columns<Double, 6>, p::by_columns<Double, 7>, p::by_columns<Double, 8>};
    return n_columns == 1 ? p::by_bytes<Double> : forms[(n_columns - 1) / 2];
  }
};

}  // namespace

const MatvecOps code_matvec = p::ops<Forms>;

}  // namespace lowtide::neon
