// Four tbl, one for each byte of a float, look sixteen levels up in sixteen values; two rounds of zip put the bytes
// together. Pairs are looked up in tables of 32 bytes, the values of either in turn. Binds: the permutations.
#include "lowtide/ops/bytes_neon.hpp"
#include "lowtide/ops/panel_fill/look_ups.hpp"

namespace lowtide::neon {
namespace {

struct V : Bytes {
  using Book = FloatTable;
  static Book book(const float* value) { return Book(value); }
  static void put_all(const float32x4_t (&found)[4], float* to) {
    for (int q = 0; q < 4; ++q) vst1q_f32(to + 4 * q, found[q]);
  }
  static void put(const Book& book, Reg levels, float* to) {
    float32x4_t found[4];
    book.find(levels, found);
    put_all(found, to);
  }
  // Entries 0 to 15 of a table of two are the first's, 16 to 31 the second's.
  static void put_pairs(const Book& first, const Book& second, Reg levels, float* to) {
    const Reg at = vzip1q_u8(levels, vorrq_u8(levels, vdupq_n_u8(16)));
    const auto plane = [&](int b) { return vqtbl2q_u8({{first.plane.val[b], second.plane.val[b]}}, at); };
    float32x4_t found[4];
    Book::join(plane(0), plane(1), plane(2), plane(3), found);
    put_all(found, to);
  }
};

using Filled = panel_look_ups::LookUps<V>;

}  // namespace

const PanelFillOp panel_fill = {Filled::columns, Filled::rows};

}  // namespace lowtide::neon
