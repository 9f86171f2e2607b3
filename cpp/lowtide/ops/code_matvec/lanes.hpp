// The ways to look sums up in tables, over register types, written once for all instruction sets. Their types live in an
// unnamed namespace of the including file, so every instance is that file's own and code of one level never stands in
// for another's.
//
// Columns on the lanes: a nibble picks one of sixteen contiguous entries of all columns, a load and an addition for each
// register of them. Order of tables: [nibble][16][columns].
// Rows on the lanes: a table of one column lies in registers, and its sixteen entries are permuted by the nibbles of
// many rows at once. Order of tables: [nibble][column][16].
// One column is the same order either way.
#pragma once

#include "lowtide/ops/code_matvec/code_matvec.hpp"

namespace lowtide::product_lanes {

#define LOWTIDE_INLINE [[gnu::always_inline]]

// What of a first cache of 32 kB is for tables; the rest is for the sums and words that pass by. Tables that are
// permuted are read in order, and may be more.
constexpr std::size_t kTableBytes = 20480, kPermutedBytes = 24576;
// Values of a nibble: four levels with two each at most.
constexpr std::size_t kMaxValues = 8;
// Rows whose sums are held at a time: the tables, which do not fit a second cache as a whole, are read once for them.
constexpr std::size_t kRows = 1024;

// [nibble][column][16].
template <class V>
void fill_by_column(const typename V::Value* values, std::size_t n_values, const typename V::Value* W,
                    std::size_t n_features, std::size_t stride, std::size_t first_word, std::size_t last_word,
                    std::size_t n_columns, typename V::Value* tables) {
  using Value = typename V::Value;
  for (std::size_t g = 16 * first_word; g < 16 * last_word; ++g) {
    const std::size_t first = g * n_values;
    const std::size_t used = first >= n_features ? 0 : n_features - first < n_values ? n_features - first : n_values;
    for (std::size_t k = 0; k < n_columns; ++k) {
      Value table[16] = {};
      for (std::size_t q = 0; q < used; ++q) {
        const Value weight = W[(first + q) * stride + k];
        for (std::size_t v = 0; v < 16; ++v) table[v] += values[q * 16 + v] * weight;
      }
      Value* to = tables + (g * n_columns + k) * 16;
      for (std::size_t v = 0; v < 16; ++v) to[v] = table[v];
    }
  }
}

// Columns on the lanes of Registers registers of V.
template <class V, int Registers>
struct Columns {
  using Value = typename V::Value;
  static constexpr std::size_t width = Registers * V::width, entry_bytes = width * sizeof(Value);
  static constexpr std::size_t fit = kTableBytes / (16 * entry_bytes);
  // Nibbles whose tables are at hand together: a word's, or as many as fit.
  static constexpr std::size_t run = fit >= 16 ? 16 : fit >= 8 ? 8 : 4;

  // Columns past n_columns are zero.
  static void fill(const Value* values, std::size_t n_values, const Value* W, std::size_t n_features,
                   std::size_t stride, std::size_t first_word, std::size_t last_word, std::size_t n_columns,
                   Value* tables) {
    alignas(64) Value weights[kMaxValues * width] = {};
    for (std::size_t g = 16 * first_word; g < 16 * last_word; ++g) {
      const std::size_t first = g * n_values;
      const std::size_t used = first >= n_features ? 0 : n_features - first < n_values ? n_features - first : n_values;
      for (std::size_t q = 0; q < used; ++q)
        for (std::size_t k = 0; k < n_columns; ++k) weights[q * width + k] = W[(first + q) * stride + k];
      for (std::size_t v = 0; v < 16; ++v)
#pragma GCC unroll 8
        for (int k = 0; k < Registers; ++k) {
          typename V::Reg sum = V::zero();
          for (std::size_t q = 0; q < used; ++q)
            sum = V::add_scaled(sum, V::load(weights + q * width + k * V::width), values[q * 16 + v]);
          V::store(tables + (g * 16 + v) * width + k * V::width, sum);
        }
    }
  }

  // Where the entry of nibble S of a word begins, in bytes after the first: the nibble is masked where its product with
  // the size of a register stands, which spares a shift and keeps the compiler from holding addresses.
  template <std::size_t S>
  static std::size_t entry_of(std::uint64_t word) {
    constexpr std::size_t size = V::width * sizeof(Value), log = size == 16 ? 4 : size == 32 ? 5 : 6;
    static_assert(size == std::size_t{1} << log);
    if constexpr (4 * S >= log)
      return Registers * (word >> (4 * S - log) & 15 << log);
    else
      return Registers * (word << (log - 4 * S) & 15 << log);
  }

  template <std::size_t S>
  LOWTIDE_INLINE static void add_nibbles(std::uint64_t word, const Value* tables, typename V::Reg (&total)[Registers]) {
    if constexpr (S < run) {
      const char* table = reinterpret_cast<const char*>(tables + S * 16 * width);
      const auto* entry = reinterpret_cast<const Value*>(table + entry_of<S>(word));
#pragma GCC unroll 8
      for (int k = 0; k < Registers; ++k) {
        const typename V::Reg found = V::load(entry + k * V::width);
        total[k] = S == 0 ? found : V::add(total[k], found);
      }
      add_nibbles<S + 1>(word, tables, total);
    }
  }

  // Adds `run` nibbles of each row, from bit `shift` on, to the sums; meanwhile the tables to come are asked for.
  static void add_run(const std::uint64_t* words, std::size_t n_rows, std::size_t shift, const Value* tables,
                      Value* sums) {
    const char* ahead = reinterpret_cast<const char*>(tables + run * 16 * width);
    const char* const ahead_end = ahead + run * 16 * entry_bytes;
    for (std::size_t i = 0; i < n_rows; ++i) {
      typename V::Reg total[Registers];
      add_nibbles<0>(words[i] >> shift, tables, total);
      Value* place = sums + i * width;
#pragma GCC unroll 8
      for (int k = 0; k < Registers; ++k)
        V::store(place + k * V::width, V::add(V::load(place + k * V::width), total[k]));
      if (ahead < ahead_end) __builtin_prefetch(ahead);
      ahead += 64;
    }
  }

  static void add_product(const std::uint64_t* tile, std::size_t n_rows, std::size_t tile_stride,
                          std::size_t first_word, std::size_t last_word, const Value* tables, std::size_t n_columns,
                          Value* out, std::size_t out_stride) {
    alignas(64) Value sums[kRows * width];
    for (std::size_t top = 0; top < n_rows; top += kRows) {
      const std::size_t count = n_rows - top < kRows ? n_rows - top : kRows;
      for (std::size_t i = 0; i < count * width; ++i) sums[i] = 0;
      for (std::size_t g = 16 * first_word; g < 16 * last_word; g += run)
        add_run(tile + (g / 16 - first_word) * tile_stride + top, count, g % 16 * 4, tables + g * 16 * width, sums);
      for (std::size_t i = 0; i < count; ++i) {
        Value* to = out + (top + i) * out_stride;
        for (std::size_t k = 0; k < n_columns; k += V::width)
          V::add_to(to + k, n_columns - k, V::load(sums + i * width + k));
      }
    }
  }
};

// One column by bytes: the tables of two nibbles make one of 256 sums, so that a word is eight loads and additions.
// Order of tables: [byte][256].
template <class V>
struct Bytes {
  using Value = typename V::Value;

  static void fill(const Value* values, std::size_t n_values, const Value* W, std::size_t n_features,
                   std::size_t stride, std::size_t first_word, std::size_t last_word, std::size_t, Value* tables) {
    Value nibbles[16 * 16];
    for (std::size_t w = first_word; w < last_word; ++w) {
      const std::size_t first = 16 * w * n_values, left = n_features < first ? 0 : n_features - first;
      // No further than what is left: past the end there is no place to point to.
      fill_by_column<V>(values, n_values, left == 0 ? W : W + first * stride, left, stride, 0, 1, 1, nibbles);
      for (std::size_t b = 0; b < 8; ++b)
        for (std::size_t high = 0; high < 16; ++high) {
          const Value more = nibbles[(2 * b + 1) * 16 + high];
          Value* to = tables + ((w * 8 + b) * 16 + high) * 16;
          for (std::size_t low = 0; low < 16; ++low) to[low] = nibbles[2 * b * 16 + low] + more;
        }
    }
  }

  static void add_word(const std::uint64_t* words, std::size_t n_rows, const Value* table, Value* sums) {
    for (std::size_t i = 0; i < n_rows; ++i) {
      const std::uint64_t word = words[i];
      Value even = table[word & 255], odd = table[256 + (word >> 8 & 255)];
#pragma GCC unroll 3
      for (std::size_t b = 2; b < 8; b += 2) {
        even += table[b * 256 + (word >> (8 * b) & 255)];
        odd += table[(b + 1) * 256 + (word >> (8 * b + 8) & 255)];
      }
      sums[i] += even + odd;
    }
  }

  static void add_product(const std::uint64_t* tile, std::size_t n_rows, std::size_t tile_stride,
                          std::size_t first_word, std::size_t last_word, const Value* tables, std::size_t, Value* out,
                          std::size_t out_stride) {
    alignas(64) Value sums[kRows];
    for (std::size_t top = 0; top < n_rows; top += kRows) {
      const std::size_t count = n_rows - top < kRows ? n_rows - top : kRows;
      for (std::size_t i = 0; i < count; ++i) sums[i] = 0;
      for (std::size_t w = first_word; w < last_word; ++w)
        add_word(tile + (w - first_word) * tile_stride + top, count, tables + w * 8 * 256, sums);
      for (std::size_t i = 0; i < count; ++i) out[(top + i) * out_stride] += sums[i];
    }
  }
};

// Rows on the lanes: n_columns columns of `Groups` groups of rows in registers.
template <class S, int NColumns>
struct Rows {
  using Value = typename S::Value;
  // Row groups in flight: enough independent additions to hide their latency, few enough for the registers.
  static constexpr int groups = S::groups(NColumns);
  static constexpr std::size_t width = NColumns, group_rows = groups * S::width;
  static constexpr std::size_t fit = kPermutedBytes / (16 * 16 * width * sizeof(Value));
  static constexpr std::size_t chunk = fit < 1 ? 1 : fit > 8 ? 8 : fit;

  // Adds one chunk of words to the sums [group][column][lane].
  static void add_groups(const std::uint64_t* tile, std::size_t tile_stride, std::size_t n_words, const Value* tables,
                         Value* sums) {
    typename S::Reg total[groups][NColumns];
    for (int r = 0; r < groups; ++r)
      for (int k = 0; k < NColumns; ++k) total[r][k] = S::zero();
    for (std::size_t w = 0; w < n_words; ++w) {
      for (std::size_t part = 0; part < S::parts; ++part) {
        typename S::Index nibbles[groups];
        for (int r = 0; r < groups; ++r) nibbles[r] = S::nibbles(tile + w * tile_stride + r * S::width, part);
        for (std::size_t s = 0; s < 16 / S::parts; ++s) {
          for (int k = 0; k < NColumns; ++k) {
            const typename S::Table table = S::table(tables + 16 * k);
            for (int r = 0; r < groups; ++r) total[r][k] = S::add(total[r][k], S::look_up(table, nibbles[r]));
          }
          for (int r = 0; r < groups; ++r) nibbles[r] = S::next(nibbles[r]);
          tables += 16 * width;
        }
      }
    }
    for (int r = 0; r < groups; ++r)
      for (int k = 0; k < NColumns; ++k) {
        Value* place = sums + (r * NColumns + k) * S::width;
        S::store(place, S::add(S::load(place), total[r][k]));
      }
  }

  static void add_product(const std::uint64_t* tile, std::size_t n_rows, std::size_t tile_stride,
                          std::size_t first_word, std::size_t last_word, const Value* tables, std::size_t, Value* out,
                          std::size_t out_stride) {
    alignas(64) Value sums[kRows * NColumns];
    for (std::size_t top = 0; top < n_rows; top += kRows) {
      const std::size_t count = n_rows - top < kRows ? n_rows - top : kRows;
      const std::size_t filled = (count + group_rows - 1) / group_rows * group_rows;
      for (std::size_t i = 0; i < filled * NColumns; ++i) sums[i] = 0;
      for (std::size_t w = first_word; w < last_word; w += chunk) {
        const std::size_t words = last_word - w < chunk ? last_word - w : chunk;
        for (std::size_t i = 0; i < count; i += group_rows)
          add_groups(tile + (w - first_word) * tile_stride + top + i, tile_stride, words, tables + w * 16 * 16 * width,
                     sums + i * NColumns);
      }
      for (std::size_t i = 0; i < count; ++i)
        for (int k = 0; k < NColumns; ++k)
          out[(top + i) * out_stride + k] += sums[(i / S::width * NColumns + k) * S::width + i % S::width];
    }
  }
};

// How a number of columns is done.
template <class V, int Registers>
constexpr MatvecOp<typename V::Value> by_columns = {Columns<V, Registers>::fill, Columns<V, Registers>::add_product};

template <class S, int NColumns>
constexpr MatvecOp<typename S::Value> by_rows = {fill_by_column<S>, Rows<S, NColumns>::add_product};

template <class V>
constexpr MatvecOp<typename V::Value> by_bytes = {Bytes<V>::fill, Bytes<V>::add_product};

// The op that does each number of columns as Forms::of(n_columns, T()) says.
template <class Forms, typename T>
struct Chosen {
  static void tables(const T* values, std::size_t n_values, const T* W, std::size_t n_features, std::size_t stride,
                     std::size_t first_word, std::size_t last_word, std::size_t n_columns, T* to) {
    Forms::of(n_columns, T()).tables(values, n_values, W, n_features, stride, first_word, last_word, n_columns, to);
  }
  static void product(const std::uint64_t* tile, std::size_t n_rows, std::size_t tile_stride, std::size_t first_word,
                      std::size_t last_word, const T* tables, std::size_t n_columns, T* out, std::size_t out_stride) {
    Forms::of(n_columns, T())
        .product(tile, n_rows, tile_stride, first_word, last_word, tables, n_columns, out, out_stride);
  }
  static constexpr MatvecOp<T> op = {tables, product};
};

template <class Forms>
constexpr MatvecOps ops = {Chosen<Forms, float>::op, Chosen<Forms, double>::op};

#undef LOWTIDE_INLINE

}  // namespace lowtide::product_lanes
