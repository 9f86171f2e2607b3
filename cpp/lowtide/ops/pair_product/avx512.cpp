// vpdpwssd makes 32 products of 16 bits and adds them to 16 sums, where a multiply-add of floats makes 16. Tiles of 8
// rows and 3 panels: 24 sums hide its latency, and 11 loads go with 24 of them. Bound by its ports. Levels: vpermw looks
// 32 of them up in two tables of sixteen numbers.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false alarms of GCC 12 inside its own header
#include <immintrin.h>

#include "lowtide/ops/bytes_x86.hpp"
#include "lowtide/ops/lanes_avx512.hpp"
#include "lowtide/ops/pair_product/look_ups.hpp"
#include "lowtide/ops/panel_product/tiles.hpp"

namespace lowtide::avx512 {
namespace {

struct V : Bytes {
  using Book = __m512i;
  static Book book(const PairBook& book) {
    const __m256i f = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(book.value[0]));
    return _mm512_inserti64x4(_mm512_castsi256_si512(f),
                              _mm256_loadu_si256(reinterpret_cast<const __m256i*>(book.value[1])), 1);
  }

  // Levels of the second table, where `second` has 16, come after those of the first.
  static void find(Book book, Reg low, Reg high, __m512i second, Pair* to) {
    const __m512i index = _mm512_or_si512(_mm512_cvtepu8_epi16(_mm256_set_m128i(high, low)), second);
    _mm512_storeu_si512(to, _mm512_permutexvar_epi16(index, book));
  }
  static void put(Book book, Reg a, Reg b, Pair* to) {
    find(book, zip_low(a, b), zip_high(a, b), _mm512_set1_epi32(16 << 16), to);
  }
  static void put_turned(Book book, Reg a, Reg b, Pair* to) {
    const Reg both = zip_low(a, b);
    find(book, _mm_unpacklo_epi16(both, both), _mm_unpackhi_epi16(both, both), _mm512_set1_epi64(0x0010'0010'0000'0000),
         to);
  }
  static void put_line(Book book, Reg a, Pair* to) {
    const __m256i found = _mm256_permutexvar_epi16(_mm256_cvtepu8_epi16(a), _mm512_castsi512_si256(book));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), found);
  }
};

struct Sums : Lanes {
  using Element = Pair;
  using Reg = Lanes::Int;
  using Lanes::load;
  static Reg zero() { return _mm512_setzero_si512(); }
  static Reg load(const Pair* p) { return _mm512_loadu_si512(p); }
  static Reg broadcast(const Pair* p) {
    return _mm512_castps_si512(_mm512_broadcastss_ps(_mm_load_ss(reinterpret_cast<const float*>(p))));
  }
  static Reg fmadd(Reg a, Reg b, Reg c) {
    // GCC 12 copies a sum before and after the intrinsic, and to the stack.
    asm volatile("vpdpwssd %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
    return c;
  }
};

using Filled = pair_look_ups::LookUps<V>;

void multiply(const PairProduct& product) { panel_tiles::panels<Sums, 8, 3>(product); }

}  // namespace

const PairOp pair_product = {Filled::columns, Filled::rows, Filled::line, multiply};

}  // namespace lowtide::avx512
