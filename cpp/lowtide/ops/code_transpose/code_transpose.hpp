// code_transpose: packed rows to packed columns. Exact.
//
// Level j of row i becomes level i of column j, for the levels of words [first_word, last_word) of each row; bits is
// 1, 2 or 4, so a word holds 64 / bits whole levels. rows: n_rows rows, row_words words apart. out: one column for each
// of the (last_word - first_word) * 64 / bits levels, padding levels among them, column_words words apart;
// column_words >= words_per_row(n_rows, bits) and all of it is written, the rest with zeros.
// Tail: the last block of rows is filled up with zero rows.
#pragma once

#include "lowtide/layout.hpp"

namespace lowtide {

using TransposeFn = void (*)(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words,
                             std::size_t first_word, std::size_t last_word, unsigned bits, std::uint64_t* out,
                             std::size_t column_words);

namespace scalar {
void code_transpose(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t first_word,
                    std::size_t last_word, unsigned bits, std::uint64_t* out, std::size_t column_words);
}  // namespace scalar

namespace avx2 {
void code_transpose(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t first_word,
                    std::size_t last_word, unsigned bits, std::uint64_t* out, std::size_t column_words);
}  // namespace avx2

namespace avx512 {
void code_transpose(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t first_word,
                    std::size_t last_word, unsigned bits, std::uint64_t* out, std::size_t column_words);
}  // namespace avx512

}  // namespace lowtide
