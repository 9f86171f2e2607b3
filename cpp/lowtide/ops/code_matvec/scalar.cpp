// Order of tables: [nibble][16][n_columns].
#include "lowtide/ops/code_matvec/code_matvec.hpp"

namespace lowtide::scalar {
namespace {

template <typename T>
void fill_tables(const T* values, std::size_t n_values, const T* W, std::size_t n_features, std::size_t stride,
                 std::size_t first_word, std::size_t last_word, std::size_t n_columns, T* tables) {
  for (std::size_t g = 16 * first_word; g < 16 * last_word; ++g) {
    T* table = tables + g * 16 * n_columns;
    for (std::size_t i = 0; i < 16 * n_columns; ++i) table[i] = 0;
    for (std::size_t q = 0; q < n_values; ++q) {
      const std::size_t feature = g * n_values + q;
      if (feature >= n_features) break;
      const T* weights = W + feature * stride;
      for (std::size_t v = 0; v < 16; ++v)
        for (std::size_t k = 0; k < n_columns; ++k) table[v * n_columns + k] += values[q * 16 + v] * weights[k];
    }
  }
}

template <typename T>
void add_product(const std::uint64_t* tile, std::size_t n_rows, std::size_t tile_stride, std::size_t first_word,
                 std::size_t last_word, const T* tables, std::size_t n_columns, T* out, std::size_t out_stride) {
  // A word's tables stay in cache while all rows pass.
  for (std::size_t w = first_word; w < last_word; ++w) {
    for (std::size_t i = 0; i < n_rows; ++i) {
      T sums[kMaxColumns] = {};
      const std::uint64_t word = tile[(w - first_word) * tile_stride + i];
      for (std::size_t s = 0; s < 16; ++s) {
        const T* entry = tables + ((w * 16 + s) * 16 + (word >> (4 * s) & 15)) * n_columns;
        for (std::size_t k = 0; k < n_columns; ++k) sums[k] += entry[k];
      }
      for (std::size_t k = 0; k < n_columns; ++k) out[i * out_stride + k] += sums[k];
    }
  }
}

}  // namespace

const MatvecOps code_matvec = {{fill_tables, add_product}, {fill_tables, add_product}};

}  // namespace lowtide::scalar
