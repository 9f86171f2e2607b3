// Few columns have rows on the lanes: a table of sixteen entries is one register (float32) or two (float64), and vpermps
// or vpermt2pd looks sixteen or eight rows up at once. Binds: the port that permutes, one table a cycle. From 13
// columns of float32 on, or seven of float64, that takes longer than columns on the lanes, one or two additions from
// memory a nibble. Binds: the loads of 64 bytes, one or two a cycle.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false alarms of GCC 12 inside its own header
#include <immintrin.h>

#include "lowtide/ops/code_matvec/code_matvec.hpp"
#include "lowtide/ops/code_matvec/lanes.hpp"

namespace lowtide::avx512 {
namespace {

namespace p = product_lanes;

constexpr int row_groups(int n_columns) { return n_columns <= 6 ? 4 : 2; }

struct Single {
  using Value = float;
  using Reg = __m512;
  using Index = __m512i;
  static constexpr std::size_t width = 16;
  static constexpr std::size_t parts = 2;  // index registers a word
  static constexpr int groups(int n_columns) { return row_groups(n_columns); }
  struct Table {
    __m512 entries;
  };
  static Reg zero() { return _mm512_setzero_ps(); }
  static Reg load(const float* q) { return _mm512_loadu_ps(q); }
  static void store(float* q, Reg a) { _mm512_storeu_ps(q, a); }
  static Reg add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
  static Reg add_scaled(Reg sum, Reg a, float b) { return add(sum, _mm512_mul_ps(a, _mm512_set1_ps(b))); }
  // Adds the first n lanes to memory, or all if there are fewer.
  static void add_to(float* q, std::size_t n, Reg a) {
    const auto mask = static_cast<__mmask16>(n >= width ? 0xFFFF : (1u << n) - 1);
    _mm512_mask_storeu_ps(q, mask, add(_mm512_maskz_loadu_ps(mask, q), a));
  }
  static Table table(const float* q) { return {load(q)}; }
  static Reg look_up(const Table& t, Index nibbles) { return _mm512_permutexvar_ps(nibbles, t.entries); }
  static Index next(Index nibbles) { return _mm512_srli_epi32(nibbles, 4); }
  // Half a word, `part`, of sixteen rows.
  static Index nibbles(const std::uint64_t* words, std::size_t part) {
    const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    const __m512i at = _mm512_add_epi32(even, _mm512_set1_epi32(static_cast<int>(part)));
    return _mm512_permutex2var_epi32(_mm512_loadu_si512(words), at, _mm512_loadu_si512(words + 8));
  }
};

struct Double {
  using Value = double;
  using Reg = __m512d;
  using Index = __m512i;
  static constexpr std::size_t width = 8;
  static constexpr std::size_t parts = 1;
  static constexpr int groups(int n_columns) { return row_groups(n_columns); }
  struct Table {
    __m512d low, high;
  };
  static Reg zero() { return _mm512_setzero_pd(); }
  static Reg load(const double* q) { return _mm512_loadu_pd(q); }
  static void store(double* q, Reg a) { _mm512_storeu_pd(q, a); }
  static Reg add(Reg a, Reg b) { return _mm512_add_pd(a, b); }
  static Reg add_scaled(Reg sum, Reg a, double b) { return add(sum, _mm512_mul_pd(a, _mm512_set1_pd(b))); }
  static void add_to(double* q, std::size_t n, Reg a) {
    const auto mask = static_cast<__mmask8>(n >= width ? 0xFF : (1u << n) - 1);
    _mm512_mask_storeu_pd(q, mask, add(_mm512_maskz_loadu_pd(mask, q), a));
  }
  static Table table(const double* q) { return {load(q), load(q + 8)}; }
  static Reg look_up(const Table& t, Index nibbles) { return _mm512_permutex2var_pd(t.low, nibbles, t.high); }
  static Index next(Index nibbles) { return _mm512_srli_epi64(nibbles, 4); }
  static Index nibbles(const std::uint64_t* words, std::size_t) { return _mm512_loadu_si512(words); }
};

struct Forms {
  static MatvecOp<float> of(std::size_t n_columns, float) {
    static constexpr MatvecOp<float> few[12] = {p::by_rows<Single, 1>,  p::by_rows<Single, 2>,  p::by_rows<Single, 3>,
                                                p::by_rows<Single, 4>,  p::by_rows<Single, 5>,  p::by_rows<Single, 6>,
                                                p::by_rows<Single, 7>,  p::by_rows<Single, 8>,  p::by_rows<Single, 9>,
                                                p::by_rows<Single, 10>, p::by_rows<Single, 11>, p::by_rows<Single, 12>};
    return n_columns <= 12 ? few[n_columns - 1] : p::by_columns<Single, 1>;
  }

  static MatvecOp<double> of(std::size_t n_columns, double) {
    static constexpr MatvecOp<double> few[6] = {p::by_rows<Double, 1>, p::by_rows<Double, 2>, p::by_rows<Double, 3>,
                                                p::by_rows<Double, 4>, p::by_rows<Double, 5>, p::by_rows<Double, 6>};
    if (n_columns <= 6) return few[n_columns - 1];
    // Three registers of half the size are a quarter less to read than two.
    if (n_columns > 8 && n_columns <= 12) return avx2::code_matvec.f64;
    return n_columns <= 8 ? p::by_columns<Double, 1> : p::by_columns<Double, 2>;
  }
};

}  // namespace

const MatvecOps code_matvec = p::ops<Forms>;

}  // namespace lowtide::avx512
