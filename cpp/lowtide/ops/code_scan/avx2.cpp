// vpshufb is sixteen table entries for 32 rows at once. Binds: the shuffle, one or two a cycle. Two queries at a time
// share the nibbles of 32 rows. Tail: the last 8 bytes of a row are loaded alone.
#include <immintrin.h>

#include "lowtide/ops/code_scan/look_ups.hpp"

namespace lowtide::avx2 {
namespace {

struct V {
  using Reg = __m256i;
  static constexpr std::size_t bytes = 32;
  static constexpr int queries = 2;
  static Reg zero() { return _mm256_setzero_si256(); }
  static Reg load(const std::uint8_t* p) { return _mm256_load_si256(reinterpret_cast<const Reg*>(p)); }
  static void store(std::uint8_t* p, Reg a) { _mm256_store_si256(reinterpret_cast<Reg*>(p), a); }
  static Reg add_bytes(Reg a, Reg b) { return _mm256_add_epi8(a, b); }
  static Reg add_words(Reg a, Reg b) { return _mm256_add_epi16(a, b); }
  static Reg odd_bytes(Reg a) { return _mm256_srli_epi16(a, 8); }
  static Reg evened(Reg even, Reg odd) { return _mm256_sub_epi16(even, _mm256_slli_epi16(odd, 8)); }
  static Reg low_nibbles(Reg a) { return _mm256_and_si256(a, _mm256_set1_epi8(15)); }
  static Reg high_nibbles(Reg a) { return low_nibbles(_mm256_srli_epi16(a, 4)); }
  static Reg zip_low(Reg a, Reg b) { return _mm256_unpacklo_epi8(a, b); }
  static Reg zip_high(Reg a, Reg b) { return _mm256_unpackhi_epi8(a, b); }
  static Reg look_up(Reg table, Reg nibbles) { return _mm256_shuffle_epi8(table, nibbles); }
  static Reg table(const std::uint8_t* entry) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(entry)));
  }

  static __m128i load_part(const std::uint8_t* from, bool whole) {
    return whole ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(from))
                 : _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  }
  static Reg load_rows(const std::uint8_t* const (&row)[32], int i, std::size_t b, bool whole) {
    return _mm256_set_m128i(load_part(row[i + 16] + b, whole), load_part(row[i] + b, whole));
  }

  // Two bits for each word that reaches the limit.
  static std::uint32_t reached_words(Reg sums, Reg limit) {
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi16(_mm256_max_epu16(sums, limit), sums)));
  }
  static std::uint32_t reached(Reg even, Reg odd, std::uint16_t limit) {
    const Reg wide = _mm256_set1_epi16(static_cast<short>(limit));
    return (reached_words(even, wide) & 0x55555555u) | (reached_words(odd, wide) & 0xAAAAAAAAu);
  }
  static void store_rows(Reg even, Reg odd, std::uint16_t* sums) {
    const Reg low = _mm256_unpacklo_epi16(even, odd), high = _mm256_unpackhi_epi16(even, odd);
    _mm256_storeu_si256(reinterpret_cast<Reg*>(sums), _mm256_permute2x128_si256(low, high, 0x20));
    _mm256_storeu_si256(reinterpret_cast<Reg*>(sums + 16), _mm256_permute2x128_si256(low, high, 0x31));
  }
};

using Scan = scan_look_ups::LookUps<V>;

}  // namespace

const ScanOp code_scan = {Scan::interleave, Scan::scan};

}  // namespace lowtide::avx2
