// vpmaddwd makes 16 products of 16 bits and adds them in twos, where a multiply-add of floats makes 8; vpaddd goes to
// other ports. Tiles of 6 rows and one panel: 12 sums, two registers of terms, a broadcast and a product fill the 16
// registers. Bound by the issue of 24 such instructions and 8 loads for 192 products. Levels: vpshufb looks the two
// bytes of a number up.
#include <immintrin.h>

#include "lowtide/ops/bytes_x86.hpp"
#include "lowtide/ops/lanes_avx2.hpp"
#include "lowtide/ops/pair_product/look_ups.hpp"
#include "lowtide/ops/panel_product/tiles.hpp"

namespace lowtide::avx2 {
namespace {

struct V : Bytes {
  // The lower bytes of the first table's numbers in one half, of the second's in the other; and the upper bytes.
  struct Book {
    __m256i low, high;
  };
  static Book book(const PairBook& book) {
    const __m256i byte = _mm256_set1_epi16(0xff);
    const __m256i f = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(book.value[0]));
    const __m256i s = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(book.value[1]));
    const __m256i low = _mm256_packus_epi16(_mm256_and_si256(f, byte), _mm256_and_si256(s, byte));
    const __m256i high = _mm256_packus_epi16(_mm256_srli_epi16(f, 8), _mm256_srli_epi16(s, 8));
    return {_mm256_permute4x64_epi64(low, 0xd8), _mm256_permute4x64_epi64(high, 0xd8)};
  }

  static void store(Pair* to, __m128i a) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), a); }
  // f of the lower and s of the upper half, of 8 levels each: first those, then the other 8.
  static void find(const Book& book, __m256i levels, __m256i (&found)[2]) {
    const __m256i low = _mm256_shuffle_epi8(book.low, levels), high = _mm256_shuffle_epi8(book.high, levels);
    found[0] = _mm256_unpacklo_epi8(low, high);
    found[1] = _mm256_unpackhi_epi8(low, high);
  }
  static void put(const Book& book, Reg a, Reg b, Pair* to) {
    __m256i found[2];
    find(book, _mm256_set_m128i(b, a), found);
    for (int i = 0; i < 2; ++i) {
      const __m128i f = _mm256_castsi256_si128(found[i]), s = _mm256_extracti128_si256(found[i], 1);
      store(to + 8 * i, _mm_unpacklo_epi16(f, s));
      store(to + 8 * i + 4, _mm_unpackhi_epi16(f, s));
    }
  }
  static void put_turned(const Book& book, Reg a, Reg b, Pair* to) {
    __m256i found[2];
    find(book, _mm256_broadcastsi128_si256(_mm_unpacklo_epi8(a, b)), found);
    for (int i = 0; i < 2; ++i) {
      const __m128i f = _mm256_castsi256_si128(found[i]), s = _mm256_extracti128_si256(found[i], 1);
      store(to + 8 * i, _mm_unpacklo_epi32(f, s));
      store(to + 8 * i + 4, _mm_unpackhi_epi32(f, s));
    }
  }
  static void put_line(const Book& book, Reg a, Pair* to) {
    __m256i found[2];
    find(book, _mm256_castsi128_si256(a), found);
    for (int i = 0; i < 2; ++i) store(to + 4 * i, _mm256_castsi256_si128(found[i]));
  }
};

struct Sums : Lanes {
  using Element = Pair;
  using Reg = Lanes::Int;
  using Lanes::load;
  static Reg zero() { return _mm256_setzero_si256(); }
  static Reg load(const Pair* p) { return _mm256_loadu_si256(reinterpret_cast<const Reg*>(p)); }
  static Reg broadcast(const Pair* p) {
    return _mm256_castps_si256(_mm256_broadcast_ss(reinterpret_cast<const float*>(p)));
  }
  static Reg fmadd(Reg a, Reg b, Reg c) {
    // Left to the compiler, all products would be made first, which leaves no registers for the sums.
    asm volatile("vpaddd %1, %0, %0" : "+x"(c) : "x"(_mm256_madd_epi16(a, b)));
    return c;
  }
};

using Filled = pair_look_ups::LookUps<V>;

void multiply(const PairProduct& product) { panel_tiles::panels<Sums, 6, 1>(product); }

}  // namespace

const PairOp pair_product = {Filled::columns, Filled::rows, Filled::line, multiply};

}  // namespace lowtide::avx2
