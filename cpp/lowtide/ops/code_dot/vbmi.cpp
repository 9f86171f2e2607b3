// vpandq, vpopcntq, vpaddq on blocks of 4 x 4 rows: 16 counters in registers, 8 loads for 16 pairs. Binds: the vector
// pipes that these three instructions share, 512 bits of a pair in 1.5 cycles, of which 95% are reached. Carry-save
// adders by vpternlogq would take 2.5 instructions, but it overwrites an input that is needed once more, and moves of
// whole registers take their turn on the same pipes: measured 10% slower. The 16 counters are summed across together.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false alarms of GCC 12 inside its own header
#include <immintrin.h>

#include "lowtide/ops/code_dot/lines.hpp"

namespace lowtide::vbmi {
namespace {

struct V {
  using Reg = __m512i;
  using Counter = __m512i;
  static constexpr std::size_t words = 8;
  static Reg zero() { return _mm512_setzero_si512(); }
  static Reg load(const std::uint64_t* p) { return _mm512_loadu_si512(p); }
  static void store(std::uint64_t* p, Reg a) { _mm512_storeu_si512(p, a); }
  static Reg both(Reg a, Reg b) { return _mm512_and_si512(a, b); }
  static Reg add_ones(Reg total, Reg bits) { return _mm512_add_epi64(total, _mm512_popcnt_epi64(bits)); }

  // Sums of neighbors, of x in even and of y in odd places.
  static Reg fold(Reg x, Reg y) { return _mm512_add_epi64(_mm512_unpacklo_epi64(x, y), _mm512_unpackhi_epi64(x, y)); }
  // Sums of neighboring pairs, of x in the lower and of y in the upper half.
  static Reg fold_pairs(Reg x, Reg y) {
    return _mm512_add_epi64(_mm512_shuffle_i64x2(x, y, 0x88), _mm512_shuffle_i64x2(x, y, 0xdd));
  }
  static Reg fold_row(const Reg (&row)[4]) { return fold_pairs(fold(row[0], row[1]), fold(row[2], row[3])); }
  static void add_four(std::int32_t* sums, __m128i more) {
    auto* to = reinterpret_cast<__m128i*>(sums);
    _mm_storeu_si128(to, _mm_add_epi32(_mm_loadu_si128(to), more));
  }
  static void add_sums(const Reg (&total)[4][4], std::int32_t* sums, std::size_t stride) {
    for (std::size_t p = 0; p < 4; p += 2) {
      const __m256i two = _mm512_cvtepi64_epi32(fold_pairs(fold_row(total[p]), fold_row(total[p + 1])));
      add_four(sums + p * stride, _mm256_castsi256_si128(two));
      add_four(sums + (p + 1) * stride, _mm256_extracti128_si256(two, 1));
    }
  }
};

using Panels = dot_lines::Lines<V>;

}  // namespace

// A panel of 256 words takes 256 KB: the right one of a product stays in L2.
const DotOp code_dot = {256, Panels::panel_bytes, Panels::prepare, Panels::multiply};

}  // namespace lowtide::vbmi
