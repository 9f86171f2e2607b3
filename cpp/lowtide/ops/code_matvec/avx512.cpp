// A table of sixteen entries is one register (float32) or two (float64), and vpermps / vpermt2pd looks sixteen or
// eight rows up at once: rows on the lanes, columns and row groups in registers. Order of tables: [nibble][column][16].
// Binds: port 5 (the permutes), one table a cycle and 64 bits of codes a cycle; for one column the vpgather that
// brings the rows' words onto the lanes. Tables of a chunk are held to half of L1 while a tile of 256 rows passes.
// Rows that do not fill a register repeat the last row.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // false alarms of GCC 12 inside its own header
#include <immintrin.h>

#include "lowtide/ops/code_matvec/code_matvec.hpp"

namespace lowtide::avx512 {
namespace {

constexpr std::size_t kTileRows = 256;

struct Single {
  using Value = float;
  using Vector = __m512;
  static constexpr std::size_t kLanes = 16;
  static constexpr std::size_t kParts = 2;  // index registers a word
  struct Table {
    __m512 entries;
  };
  static Vector zero() { return _mm512_setzero_ps(); }
  static Vector load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Vector v) { _mm512_storeu_ps(p, v); }
  static Vector add(Vector a, Vector b) { return _mm512_add_ps(a, b); }
  static Table table(const float* p) { return {_mm512_loadu_ps(p)}; }
  static Vector look_up(const Table& t, __m512i nibbles) { return _mm512_permutexvar_ps(nibbles, t.entries); }
  static __m512i next(__m512i nibbles) { return _mm512_srli_epi32(nibbles, 4); }
  // Half a word, `part`, of sixteen rows.
  static __m512i gather(const std::uint64_t* word, std::size_t row_words, std::size_t rows, std::size_t part) {
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i row = _mm512_min_epi32(lane, _mm512_set1_epi32(static_cast<int>(rows) - 1));
    const __m512i at = _mm512_mullo_epi32(row, _mm512_set1_epi32(static_cast<int>(2 * row_words)));
    return _mm512_i32gather_epi32(at, reinterpret_cast<const int*>(word) + part, 4);
  }
};

struct Double {
  using Value = double;
  using Vector = __m512d;
  static constexpr std::size_t kLanes = 8;
  static constexpr std::size_t kParts = 1;
  struct Table {
    __m512d low, high;
  };
  static Vector zero() { return _mm512_setzero_pd(); }
  static Vector load(const double* p) { return _mm512_loadu_pd(p); }
  static void store(double* p, Vector v) { _mm512_storeu_pd(p, v); }
  static Vector add(Vector a, Vector b) { return _mm512_add_pd(a, b); }
  static Table table(const double* p) { return {_mm512_loadu_pd(p), _mm512_loadu_pd(p + 8)}; }
  static Vector look_up(const Table& t, __m512i nibbles) { return _mm512_permutex2var_pd(t.low, nibbles, t.high); }
  static __m512i next(__m512i nibbles) { return _mm512_srli_epi64(nibbles, 4); }
  static __m512i gather(const std::uint64_t* word, std::size_t row_words, std::size_t rows, std::size_t) {
    const __m512i lane = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
    const __m512i row = _mm512_min_epi64(lane, _mm512_set1_epi64(static_cast<long long>(rows) - 1));
    const __m512i at = _mm512_mullo_epi64(row, _mm512_set1_epi64(static_cast<long long>(row_words)));
    return _mm512_i64gather_epi64(at, word, 8);
  }
};

// Adds one chunk of words to the sums [group][column][lane] of Groups row groups.
template <typename S, int Groups, int Columns>
void add_groups(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t n_words,
                const typename S::Value* tables, typename S::Value* sums) {
  typename S::Vector total[Groups][Columns];
  for (int r = 0; r < Groups; ++r)
    for (int k = 0; k < Columns; ++k) total[r][k] = S::zero();
  for (std::size_t w = 0; w < n_words; ++w) {
    for (std::size_t part = 0; part < S::kParts; ++part) {
      __m512i nibbles[Groups];
      for (int r = 0; r < Groups; ++r) {
        const std::size_t first = r * S::kLanes < n_rows ? r * S::kLanes : n_rows - 1;
        nibbles[r] = S::gather(rows + first * row_words + w, row_words, n_rows - first, part);
      }
      for (std::size_t s = 0; s < 16 / S::kParts; ++s) {
        for (int k = 0; k < Columns; ++k) {
          const typename S::Table table = S::table(tables + 16 * k);
          for (int r = 0; r < Groups; ++r) total[r][k] = S::add(total[r][k], S::look_up(table, nibbles[r]));
        }
        for (int r = 0; r < Groups; ++r) nibbles[r] = S::next(nibbles[r]);
        tables += 16 * Columns;
      }
    }
  }
  for (int r = 0; r < Groups; ++r) {
    for (int k = 0; k < Columns; ++k) {
      typename S::Value* place = sums + (r * Columns + k) * S::kLanes;
      S::store(place, S::add(S::load(place), total[r][k]));
    }
  }
}

template <typename S, int Columns>
void add_product(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t n_words,
                 const typename S::Value* tables, typename S::Value* out, std::size_t out_stride) {
  using Value = typename S::Value;
  // Row groups in flight: enough independent additions to hide their latency, few enough for 32 registers.
  constexpr int groups = Columns <= 6 ? 4 : Columns <= 12 ? 2 : 1;
  constexpr std::size_t group_rows = groups * S::kLanes;
  constexpr std::size_t word_bytes = 16 * 16 * Columns * sizeof(Value);
  constexpr std::size_t fit = 24576 / word_bytes, chunk = fit < 1 ? 1 : fit > 8 ? 8 : fit;
  alignas(64) Value sums[kTileRows * Columns];
  for (std::size_t top = 0; top < n_rows; top += kTileRows) {
    const std::size_t count = n_rows - top < kTileRows ? n_rows - top : kTileRows;
    for (std::size_t i = 0; i < kTileRows * Columns; ++i) sums[i] = 0;
    for (std::size_t w = 0; w < n_words; w += chunk) {
      const std::size_t words = n_words - w < chunk ? n_words - w : chunk;
      for (std::size_t i = 0; i < count; i += group_rows)
        add_groups<S, groups, Columns>(rows + (top + i) * row_words + w, count - i, row_words, words,
                                       tables + w * 16 * 16 * Columns, sums + i * Columns);
    }
    for (std::size_t i = 0; i < count; ++i)
      for (int k = 0; k < Columns; ++k)
        out[(top + i) * out_stride + k] += sums[(i / S::kLanes * Columns + k) * S::kLanes + i % S::kLanes];
  }
}

template <typename S>
void product(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t n_words,
             const typename S::Value* tables, std::size_t n_columns, typename S::Value* out, std::size_t out_stride) {
  using Fn = void (*)(const std::uint64_t*, std::size_t, std::size_t, std::size_t, const typename S::Value*,
                      typename S::Value*, std::size_t);
  static constexpr Fn forms[kMaxColumns] = {
      add_product<S, 1>,  add_product<S, 2>,  add_product<S, 3>,  add_product<S, 4>,
      add_product<S, 5>,  add_product<S, 6>,  add_product<S, 7>,  add_product<S, 8>,
      add_product<S, 9>,  add_product<S, 10>, add_product<S, 11>, add_product<S, 12>,
      add_product<S, 13>, add_product<S, 14>, add_product<S, 15>, add_product<S, 16>};
  forms[n_columns - 1](rows, n_rows, row_words, n_words, tables, out, out_stride);
}

template <typename T>
void fill_tables(const T* values, std::size_t n_values, const T* W, std::size_t n_features, std::size_t stride,
                 std::size_t first_nibble, std::size_t last_nibble, std::size_t n_columns, T* tables) {
  for (std::size_t g = first_nibble; g < last_nibble; ++g) {
    const std::size_t first = g * n_values;
    const std::size_t used = first >= n_features ? 0 : n_features - first < n_values ? n_features - first : n_values;
    for (std::size_t k = 0; k < n_columns; ++k) {
      T table[16] = {};
      for (std::size_t q = 0; q < used; ++q) {
        const T weight = W[(first + q) * stride + k];
        for (std::size_t v = 0; v < 16; ++v) table[v] += values[q * 16 + v] * weight;
      }
      T* to = tables + (g * n_columns + k) * 16;
      for (std::size_t v = 0; v < 16; ++v) to[v] = table[v];
    }
  }
}

}  // namespace

void code_tables(const float* values, std::size_t n_values, const float* W, std::size_t n_features, std::size_t stride,
                 std::size_t first_nibble, std::size_t last_nibble, std::size_t n_columns, float* tables) {
  fill_tables(values, n_values, W, n_features, stride, first_nibble, last_nibble, n_columns, tables);
}

void code_tables(const double* values, std::size_t n_values, const double* W, std::size_t n_features,
                 std::size_t stride, std::size_t first_nibble, std::size_t last_nibble, std::size_t n_columns,
                 double* tables) {
  fill_tables(values, n_values, W, n_features, stride, first_nibble, last_nibble, n_columns, tables);
}

void code_product(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t n_words,
                  const float* tables, std::size_t n_columns, float* out, std::size_t out_stride) {
  product<Single>(rows, n_rows, row_words, n_words, tables, n_columns, out, out_stride);
}

void code_product(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t n_words,
                  const double* tables, std::size_t n_columns, double* out, std::size_t out_stride) {
  product<Double>(rows, n_rows, row_words, n_words, tables, n_columns, out, out_stride);
}

}  // namespace lowtide::avx512
