// vpshufb is sixteen table entries for 64 rows at once. Binds: the two vector ports, which a look-up and its addition
// share. Up to eight queries use the nibbles of 64 rows together; their sums stay in registers. Tail: the last 8 bytes of
// a row are loaded alone.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false alarms of GCC 12 inside its own header
#include <immintrin.h>

#include "lowtide/ops/code_scan/look_ups.hpp"

namespace lowtide::avx512 {
namespace {

struct V {
  using Reg = __m512i;
  static constexpr std::size_t bytes = 64;
  static constexpr int queries = 8;
  static Reg zero() { return _mm512_setzero_si512(); }
  static Reg load(const std::uint8_t* p) { return _mm512_load_si512(p); }
  static void store(std::uint8_t* p, Reg a) { _mm512_store_si512(p, a); }
  static Reg add_bytes(Reg a, Reg b) { return _mm512_add_epi8(a, b); }
  static Reg add_words(Reg a, Reg b) { return _mm512_add_epi16(a, b); }
  static Reg odd_bytes(Reg a) { return _mm512_srli_epi16(a, 8); }
  static Reg evened(Reg even, Reg odd) { return _mm512_sub_epi16(even, _mm512_slli_epi16(odd, 8)); }
  static Reg low_nibbles(Reg a) { return _mm512_and_si512(a, _mm512_set1_epi8(15)); }
  static Reg high_nibbles(Reg a) { return low_nibbles(_mm512_srli_epi16(a, 4)); }
  static Reg zip_low(Reg a, Reg b) { return _mm512_unpacklo_epi8(a, b); }
  static Reg zip_high(Reg a, Reg b) { return _mm512_unpackhi_epi8(a, b); }
  static Reg look_up(Reg table, Reg nibbles) { return _mm512_shuffle_epi8(table, nibbles); }
  static Reg table(const std::uint8_t* entry) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(entry)));
  }

  static __m128i load_part(const std::uint8_t* from, bool whole) {
    return whole ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(from))
                 : _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  }
  static Reg load_rows(const std::uint8_t* const (&row)[64], int i, std::size_t b, bool whole) {
    Reg x = _mm512_castsi128_si512(load_part(row[i] + b, whole));
    x = _mm512_inserti32x4(x, load_part(row[i + 16] + b, whole), 1);
    x = _mm512_inserti32x4(x, load_part(row[i + 32] + b, whole), 2);
    return _mm512_inserti32x4(x, load_part(row[i + 48] + b, whole), 3);
  }

  static std::uint64_t reached(Reg even, Reg odd, std::uint16_t limit) {
    const Reg wide = _mm512_set1_epi16(static_cast<short>(limit));
    const std::uint64_t low = _mm512_cmpge_epu16_mask(even, wide), high = _mm512_cmpge_epu16_mask(odd, wide);
    return _pdep_u64(low, 0x5555555555555555u) | _pdep_u64(high, 0xAAAAAAAAAAAAAAAAu);
  }
  static void store_rows(Reg even, Reg odd, std::uint16_t* sums) {
    const Reg low = _mm512_unpacklo_epi16(even, odd), high = _mm512_unpackhi_epi16(even, odd);
    const Reg first = _mm512_set_epi64(11, 10, 3, 2, 9, 8, 1, 0), last = _mm512_set_epi64(15, 14, 7, 6, 13, 12, 5, 4);
    _mm512_storeu_si512(sums, _mm512_permutex2var_epi64(low, first, high));
    _mm512_storeu_si512(sums + 32, _mm512_permutex2var_epi64(low, last, high));
  }
};

using Scan = scan_look_ups::LookUps<V>;

}  // namespace

const ScanOp code_scan = {Scan::interleave, Scan::scan};

}  // namespace lowtide::avx512
