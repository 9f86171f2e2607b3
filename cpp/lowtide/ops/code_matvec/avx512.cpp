// A table of sixteen entries is one register (float32) or two (float64), and vpermps / vpermt2pd looks sixteen or
// eight rows up at once: rows on the lanes of lanes.hpp.
// Binds: port 5 (the permutes), one table a cycle and 64 bits of codes a cycle.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false alarms of GCC 12 inside its own header
#include <immintrin.h>

#include "lowtide/ops/code_matvec/code_matvec.hpp"
#include "lowtide/ops/code_matvec/lanes.hpp"

namespace lowtide::avx512 {
namespace {

namespace p = product_lanes;

constexpr int row_groups(int n_columns) { return n_columns <= 6 ? 4 : n_columns <= 12 ? 2 : 1; }

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
  static Table table(const double* q) { return {load(q), load(q + 8)}; }
  static Reg look_up(const Table& t, Index nibbles) { return _mm512_permutex2var_pd(t.low, nibbles, t.high); }
  static Index next(Index nibbles) { return _mm512_srli_epi64(nibbles, 4); }
  static Index nibbles(const std::uint64_t* words, std::size_t) { return _mm512_loadu_si512(words); }
};

template <class S>
void product(const std::uint64_t* tile, std::size_t n_rows, std::size_t tile_stride, std::size_t first_word,
             std::size_t last_word, const typename S::Value* tables, std::size_t n_columns, typename S::Value* out,
             std::size_t out_stride) {
  static constexpr decltype(&p::Rows<S, 1>::add_product) forms[kMaxColumns] = {
      p::Rows<S, 1>::add_product,  p::Rows<S, 2>::add_product,  p::Rows<S, 3>::add_product,
      p::Rows<S, 4>::add_product,  p::Rows<S, 5>::add_product,  p::Rows<S, 6>::add_product,
      p::Rows<S, 7>::add_product,  p::Rows<S, 8>::add_product,  p::Rows<S, 9>::add_product,
      p::Rows<S, 10>::add_product, p::Rows<S, 11>::add_product, p::Rows<S, 12>::add_product,
      p::Rows<S, 13>::add_product, p::Rows<S, 14>::add_product, p::Rows<S, 15>::add_product,
      p::Rows<S, 16>::add_product};
  forms[n_columns - 1](tile, n_rows, tile_stride, first_word, last_word, tables, n_columns, out, out_stride);
}

}  // namespace

void code_tables(const float* values, std::size_t n_values, const float* W, std::size_t n_features, std::size_t stride,
                 std::size_t first_word, std::size_t last_word, std::size_t n_columns, float* tables) {
  p::fill_by_column<Single>(values, n_values, W, n_features, stride, first_word, last_word, n_columns, tables);
}

void code_tables(const double* values, std::size_t n_values, const double* W, std::size_t n_features,
                 std::size_t stride, std::size_t first_word, std::size_t last_word, std::size_t n_columns,
                 double* tables) {
  p::fill_by_column<Double>(values, n_values, W, n_features, stride, first_word, last_word, n_columns, tables);
}

void code_product(const std::uint64_t* tile, std::size_t n_rows, std::size_t tile_stride, std::size_t first_word,
                  std::size_t last_word, const float* tables, std::size_t n_columns, float* out,
                  std::size_t out_stride) {
  product<Single>(tile, n_rows, tile_stride, first_word, last_word, tables, n_columns, out, out_stride);
}

void code_product(const std::uint64_t* tile, std::size_t n_rows, std::size_t tile_stride, std::size_t first_word,
                  std::size_t last_word, const double* tables, std::size_t n_columns, double* out,
                  std::size_t out_stride) {
  product<Double>(tile, n_rows, tile_stride, first_word, last_word, tables, n_columns, out, out_stride);
}

}  // namespace lowtide::avx512
