// code_matvec: packed rows times a dense matrix by look-up tables, out += D W, for levels of 1, 2 or 4 bits.
//
// Four neighboring bits, a nibble, hold whole levels, so their part of a row's product takes one of sixteen values:
//   table[g][v][k] = sum over q < n_values of values[q][v] * W[g n_values + q][k]
//   out[i][k]     += sum over g of table[g][nibble g of row i][k]
// values (n_values, 16): what the q-th feature of a nibble is when the nibble is v; the codebook is inside, so one op
// serves every width and codebook. Features beyond n_features count as zero, which makes padding bits harmless.
//
// tables: fills those of words [first_word, last_word); W is (n_features, stride) with n_columns <= kMaxColumns columns used. The order
// inside `tables` is the level's own; its size is 16 * 16 * n_words * padded_columns(n_columns) values.
// product: adds words [first_word, last_word), 16 nibbles each. They come as a tile of code_transpose.hpp, word w of row
// i at tile[(w - first_word) * tile_stride + i]; tile_items(n_rows) rows can be read. out rows are out_stride apart.
//
// Levels agree to rounding: sums run over at most 512 bits, then over those partial sums, so with u the unit roundoff
// |error| <= (n_values + 128 + n_words) u sum |D||W| over n_words words, in whichever calls they are added. A row's result does not depend on the other rows of the call.
// Tail: a tile has whole groups of rows; those past n_rows are not stored.
#pragma once

#include "lowtide/layout.hpp"

namespace lowtide {

constexpr std::size_t kMaxColumns = 16;

constexpr std::size_t padded_columns(std::size_t n_columns) { return (n_columns + 7) / 8 * 8; }

template <typename T>
using TablesFn = void (*)(const T* values, std::size_t n_values, const T* W, std::size_t n_features, std::size_t stride,
                          std::size_t first_word, std::size_t last_word, std::size_t n_columns, T* tables);
template <typename T>
using ProductFn = void (*)(const std::uint64_t* tile, std::size_t n_rows, std::size_t tile_stride,
                           std::size_t first_word, std::size_t last_word, const T* tables, std::size_t n_columns,
                           T* out, std::size_t out_stride);

template <typename T>
struct MatvecOp {
  TablesFn<T> tables;
  ProductFn<T> product;
};

struct MatvecOps {
  MatvecOp<float> f32;
  MatvecOp<double> f64;
};

namespace scalar {
extern const MatvecOps code_matvec;
}
namespace avx2 {
extern const MatvecOps code_matvec;
}
namespace avx512 {
extern const MatvecOps code_matvec;
}
namespace neon {
extern const MatvecOps code_matvec;
}

}  // namespace lowtide
