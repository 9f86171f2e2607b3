// Blocks of one word by 64 / bits rows are transposed by exchanging off-diagonal halves, quarters, and so on: at most
// six exchanges of 32 word pairs for 4096 bits, which the compiler turns into baseline vector code.
#include "lowtide/ops/code_transpose/code_transpose.hpp"

namespace lowtide::scalar {
namespace {

// block: 64 / Bits words of 64 / Bits levels each, transposed in place.
template <unsigned Bits>
inline void transpose_block(std::uint64_t* block) {
  constexpr unsigned n = 64 / Bits;
  for (unsigned half = n / 2; half != 0; half /= 2) {
    const unsigned shift = half * Bits;
    // The low `shift` bits of each run of 2 * shift bits.
    const std::uint64_t low = ~std::uint64_t{0} / ((std::uint64_t{1} << shift) + 1);
    for (unsigned base = 0; base < n; base += 2 * half) {
      for (unsigned i = base; i < base + half; ++i) {
        const std::uint64_t moved = ((block[i] >> shift) ^ block[i + half]) & low;
        block[i] ^= moved << shift;
        block[i + half] ^= moved;
      }
    }
  }
}

template <unsigned Bits>
void transpose_as(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t first_word,
                  std::size_t last_word, std::uint64_t* out, std::size_t column_words) {
  constexpr std::size_t per = 64 / Bits;
  // Eight words are one cache line of a row: read whole before the next block of rows.
  for (std::size_t strip = first_word; strip < last_word; strip += 8) {
    const std::size_t strip_end = strip + 8 < last_word ? strip + 8 : last_word;
    for (std::size_t b = 0; b < column_words; ++b) {
      const std::size_t top = b * per;
      const std::size_t count = top >= n_rows ? 0 : (n_rows - top < per ? n_rows - top : per);
      for (std::size_t w = strip; w < strip_end; ++w) {
        std::uint64_t block[per];
        for (std::size_t i = 0; i < count; ++i) block[i] = rows[(top + i) * row_words + w];
        for (std::size_t i = count; i < per; ++i) block[i] = 0;
        if (count != 0) transpose_block<Bits>(block);
        std::uint64_t* column = out + (w - first_word) * per * column_words + b;
        for (std::size_t i = 0; i < per; ++i) column[i * column_words] = block[i];
      }
    }
  }
}

}  // namespace

void code_transpose(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, std::size_t first_word,
                    std::size_t last_word, unsigned bits, std::uint64_t* out, std::size_t column_words) {
  switch (bits) {
    case 1: return transpose_as<1>(rows, n_rows, row_words, first_word, last_word, out, column_words);
    case 2: return transpose_as<2>(rows, n_rows, row_words, first_word, last_word, out, column_words);
    default: return transpose_as<4>(rows, n_rows, row_words, first_word, last_word, out, column_words);
  }
}

}  // namespace lowtide::scalar
