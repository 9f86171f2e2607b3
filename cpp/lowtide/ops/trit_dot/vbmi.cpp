// vpandq, vpternlogq, vpopcntq twice and vpaddq twice on blocks of 4 x 2 rows: 16 counters in registers. Binds: the
// vector pipes that these instructions share, 512 trits of a pair in 3 cycles. The counters are summed across together.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false alarms of GCC 12 inside its own header
#include <immintrin.h>

#include "lowtide/ops/trit_dot/planes.hpp"

namespace lowtide::vbmi {
namespace {

struct V {
  using Reg = __m512i;
  using Counter = __m512i;
  static constexpr std::size_t words = 8;
  static Reg zero() { return _mm512_setzero_si512(); }
  static Reg load(const std::uint64_t* p) { return _mm512_loadu_si512(p); }
  static void store(std::uint64_t* p, Reg a) { _mm512_storeu_si512(p, a); }
  static Reg shifted_up(Reg a) { return _mm512_slli_epi64(a, 1); }
  static Reg shifted_down(Reg a) { return _mm512_srli_epi64(a, 1); }
  static Reg differ(Reg a, Reg b) { return _mm512_xor_si512(a, b); }
  static Reg both(Reg a, Reg b) { return _mm512_and_si512(a, b); }
  // Even bits of a, odd bits of b.
  static Reg even_odd(Reg a, Reg b) {
    return _mm512_ternarylogic_epi64(_mm512_set1_epi64(0x5555555555555555), a, b, 0xCA);
  }
  // x AND (y XOR z).
  static Reg where_differ(Reg x, Reg y, Reg z) { return _mm512_ternarylogic_epi64(x, y, z, 0x60); }
  static Reg add_ones(Reg total, Reg bits) { return _mm512_add_epi64(total, _mm512_popcnt_epi64(bits)); }

  // Sums of neighbors, of x in even and of y in odd places.
  static Reg fold(Reg x, Reg y) { return _mm512_add_epi64(_mm512_unpacklo_epi64(x, y), _mm512_unpackhi_epi64(x, y)); }
  // Sums of neighboring pairs, of x in the lower and of y in the upper half.
  static Reg fold_pairs(Reg x, Reg y) {
    return _mm512_add_epi64(_mm512_shuffle_i64x2(x, y, 0x88), _mm512_shuffle_i64x2(x, y, 0xdd));
  }
  static Reg fold_rows(const Reg (&c)[4][2]) {
    return fold_pairs(fold_pairs(fold(c[0][0], c[0][1]), fold(c[1][0], c[1][1])),
                      fold_pairs(fold(c[2][0], c[2][1]), fold(c[3][0], c[3][1])));
  }
  static void add_sums(const Reg (&common)[4][2], const Reg (&opposite)[4][2], std::int32_t* sums, std::size_t stride) {
    const Reg twice = _mm512_slli_epi64(fold_rows(opposite), 1);
    alignas(32) std::int32_t more[8];
    _mm256_store_si256(reinterpret_cast<__m256i*>(more),
                       _mm512_cvtepi64_epi32(_mm512_sub_epi64(fold_rows(common), twice)));
    for (std::size_t p = 0; p < 4; ++p) {
      sums[p * stride] += more[2 * p];
      sums[p * stride + 1] += more[2 * p + 1];
    }
  }
};

using Panels = trit_planes::Planes<V>;

}  // namespace

// A panel of 256 words takes 256 KB: the right one of a product stays in L2.
const DotOp trit_dot = {256, Panels::panel_bytes, Panels::prepare, Panels::multiply};

}  // namespace lowtide::vbmi
