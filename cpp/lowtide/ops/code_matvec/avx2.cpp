// Columns on the lanes: a nibble picks one of sixteen contiguous rows of a table, one vector addition for 8 (float32)
// or 4 (float64) columns. Order of tables: [nibble][16][columns padded to a vector]. Binds: two loads a cycle, and for
// few columns the scalar shift and mask that make the address. One word's tables stay in L1 while a tile of rows
// passes; each row keeps its sums in registers over that word.
//
// One float32 column has rows on the lanes instead, and tables of sixteen values in two vectors: a nibble of eight rows
// is two permutations and a blend, six instructions for 32 features. Binds: the one port that permutes.
#include <immintrin.h>

#include "lowtide/ops/code_matvec/code_matvec.hpp"

namespace lowtide::avx2 {
namespace {

constexpr std::size_t kTileRows = 256;

struct Single {
  using Value = float;
  using Vector = __m256;
  static constexpr std::size_t kLanes = 8;
  static Vector load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, Vector v) { _mm256_storeu_ps(p, v); }
  static Vector add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
};

struct Double {
  using Value = double;
  using Vector = __m256d;
  static constexpr std::size_t kLanes = 4;
  static Vector load(const double* p) { return _mm256_loadu_pd(p); }
  static void store(double* p, Vector v) { _mm256_storeu_pd(p, v); }
  static Vector add(Vector a, Vector b) { return _mm256_add_pd(a, b); }
};

// Adds one word of each row to sums (n_rows, Vectors * lanes).
template <typename S, int Vectors>
void add_word(const std::uint64_t* words, std::size_t n_rows, std::size_t row_words, const typename S::Value* tables,
              typename S::Value* sums) {
  constexpr std::size_t width = Vectors * S::kLanes;
  for (std::size_t i = 0; i < n_rows; ++i) {
    std::uint64_t word = words[i * row_words];
    typename S::Vector total[Vectors];
    for (int k = 0; k < Vectors; ++k) total[k] = S::load(tables + (word & 15) * width + k * S::kLanes);
    for (std::size_t s = 1; s < 16; ++s) {
      word >>= 4;
      const typename S::Value* entry = tables + (s * 16 + (word & 15)) * width;
      for (int k = 0; k < Vectors; ++k) total[k] = S::add(total[k], S::load(entry + k * S::kLanes));
    }
    typename S::Value* place = sums + i * width;
    for (int k = 0; k < Vectors; ++k) S::store(place + k * S::kLanes, S::add(S::load(place + k * S::kLanes), total[k]));
  }
}

template <typename S, int Vectors>
void add_product(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t n_words,
                 const typename S::Value* tables, std::size_t n_columns, typename S::Value* out,
                 std::size_t out_stride) {
  constexpr std::size_t width = Vectors * S::kLanes;
  alignas(32) typename S::Value sums[kTileRows * width];
  for (std::size_t top = 0; top < n_rows; top += kTileRows) {
    const std::size_t count = n_rows - top < kTileRows ? n_rows - top : kTileRows;
    for (std::size_t i = 0; i < count * width; ++i) sums[i] = 0;
    for (std::size_t w = 0; w < n_words; ++w)
      add_word<S, Vectors>(rows + top * row_words + w, count, row_words, tables + w * 16 * 16 * width, sums);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t k = 0; k < n_columns; ++k) out[(top + i) * out_stride + k] += sums[i * width + k];
  }
}

template <typename S>
void product(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t n_words,
             const typename S::Value* tables, std::size_t n_columns, typename S::Value* out, std::size_t out_stride) {
  using Fn = void (*)(const std::uint64_t*, std::size_t, std::size_t, std::size_t, const typename S::Value*,
                      std::size_t, typename S::Value*, std::size_t);
  static constexpr Fn forms[4] = {add_product<S, 1>, add_product<S, 2>, add_product<S, 3>, add_product<S, 4>};
  const std::size_t vectors = (n_columns + S::kLanes - 1) / S::kLanes;
  forms[vectors - 1](rows, n_rows, row_words, n_words, tables, n_columns, out, out_stride);
}

// Rows are taken 32 at a time, so that a table is read once for four vectors of them.
constexpr std::size_t kGroups = 4, kGroupRows = 8 * kGroups;
constexpr std::size_t kPartWords = 8;

// Adds the nibbles of 32 bits of eight rows a vector.
inline void add_half_word(const __m256i (&bits)[kGroups], const float* tables, __m256 (&sums)[kGroups]) {
  for (int s = 0; s < 8; ++s) {
    const __m256 low = _mm256_loadu_ps(tables + 16 * s), high = _mm256_loadu_ps(tables + 16 * s + 8);
    for (std::size_t r = 0; r < kGroups; ++r) {
      const __m256i nibble = _mm256_srli_epi32(bits[r], 4 * s);
      // The sign of a lane is the nibble's fourth bit: which half of the table to take.
      const __m256 half = _mm256_castsi256_ps(_mm256_slli_epi32(bits[r], 28 - 4 * s));
      const __m256 value =
          _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, nibble), _mm256_permutevar8x32_ps(high, nibble), half);
      sums[r] = _mm256_add_ps(sums[r], value);
    }
  }
}

void add_one_column(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t n_words,
                    const float* tables, float* out, std::size_t out_stride) {
  for (std::size_t top = 0; top < n_rows; top += kGroupRows) {
    __m256i offsets[kGroups];
    for (std::size_t r = 0; r < kGroups; ++r) {
      alignas(32) std::int32_t at[8];
      for (std::size_t lane = 0; lane < 8; ++lane) {
        const std::size_t row = top + 8 * r + lane;
        at[lane] = static_cast<std::int32_t>(((row < n_rows ? row : n_rows - 1) - top) * row_words * 2);
      }
      offsets[r] = _mm256_load_si256(reinterpret_cast<const __m256i*>(at));
    }
    const int* words = reinterpret_cast<const int*>(rows + top * row_words);
    __m256 totals[kGroups];
    for (std::size_t r = 0; r < kGroups; ++r) totals[r] = _mm256_setzero_ps();
    for (std::size_t first = 0; first < n_words; first += kPartWords) {
      const std::size_t last = first + kPartWords < n_words ? first + kPartWords : n_words;
      __m256 sums[kGroups];
      for (std::size_t r = 0; r < kGroups; ++r) sums[r] = _mm256_setzero_ps();
      for (std::size_t half = 2 * first; half < 2 * last; ++half) {
        __m256i bits[kGroups];
        for (std::size_t r = 0; r < kGroups; ++r) bits[r] = _mm256_i32gather_epi32(words + half, offsets[r], 4);
        add_half_word(bits, tables + half * 8 * 16, sums);
      }
      for (std::size_t r = 0; r < kGroups; ++r) totals[r] = _mm256_add_ps(totals[r], sums[r]);
    }
    alignas(32) float results[kGroupRows];
    for (std::size_t r = 0; r < kGroups; ++r) _mm256_store_ps(results + 8 * r, totals[r]);
    const std::size_t count = n_rows - top < kGroupRows ? n_rows - top : kGroupRows;
    for (std::size_t i = 0; i < count; ++i) out[(top + i) * out_stride] += results[i];
  }
}

void fill_one_column(const float* values, std::size_t n_values, const float* W, std::size_t n_features,
                     std::size_t stride, std::size_t first_nibble, std::size_t last_nibble, float* tables) {
  for (std::size_t g = first_nibble; g < last_nibble; ++g)
    for (std::size_t v = 0; v < 16; ++v) {
      float sum = 0;
      for (std::size_t q = 0; q < n_values && g * n_values + q < n_features; ++q)
        sum += values[q * 16 + v] * W[(g * n_values + q) * stride];
      tables[g * 16 + v] = sum;
    }
}

template <typename S>
void fill_tables(const typename S::Value* values, std::size_t n_values, const typename S::Value* W,
                 std::size_t n_features, std::size_t stride, std::size_t first_nibble, std::size_t last_nibble,
                 std::size_t n_columns, typename S::Value* tables) {
  using Value = typename S::Value;
  const std::size_t width = (n_columns + S::kLanes - 1) / S::kLanes * S::kLanes;
  for (std::size_t g = first_nibble; g < last_nibble; ++g) {
    Value* table = tables + g * 16 * width;
    for (std::size_t i = 0; i < 16 * width; ++i) table[i] = 0;
    for (std::size_t q = 0; q < n_values; ++q) {
      const std::size_t feature = g * n_values + q;
      if (feature >= n_features) break;
      Value weights[kMaxColumns] = {};
      for (std::size_t k = 0; k < n_columns; ++k) weights[k] = W[feature * stride + k];
      for (std::size_t v = 0; v < 16; ++v)
        for (std::size_t k = 0; k < width; ++k) table[v * width + k] += values[q * 16 + v] * weights[k];
    }
  }
}

}  // namespace

void code_tables(const float* values, std::size_t n_values, const float* W, std::size_t n_features, std::size_t stride,
                 std::size_t first_nibble, std::size_t last_nibble, std::size_t n_columns, float* tables) {
  if (n_columns == 1)
    return fill_one_column(values, n_values, W, n_features, stride, first_nibble, last_nibble, tables);
  fill_tables<Single>(values, n_values, W, n_features, stride, first_nibble, last_nibble, n_columns, tables);
}

void code_tables(const double* values, std::size_t n_values, const double* W, std::size_t n_features,
                 std::size_t stride, std::size_t first_nibble, std::size_t last_nibble, std::size_t n_columns,
                 double* tables) {
  fill_tables<Double>(values, n_values, W, n_features, stride, first_nibble, last_nibble, n_columns, tables);
}

void code_product(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t n_words,
                  const float* tables, std::size_t n_columns, float* out, std::size_t out_stride) {
  if (n_columns == 1) return add_one_column(rows, n_rows, row_words, n_words, tables, out, out_stride);
  product<Single>(rows, n_rows, row_words, n_words, tables, n_columns, out, out_stride);
}

void code_product(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t n_words,
                  const double* tables, std::size_t n_columns, double* out, std::size_t out_stride) {
  product<Double>(rows, n_rows, row_words, n_words, tables, n_columns, out, out_stride);
}

}  // namespace lowtide::avx2
