// At most six exchanges of 32 word pairs for 4096 bits, which the compiler turns into baseline vector code.
#include "lowtide/ops/code_transpose/blocks.hpp"

namespace lowtide::scalar {
namespace {

struct V {
  // block: 64 / Bits words of 64 / Bits levels each.
  template <unsigned Bits>
  static void transpose(std::uint64_t* block, std::uint64_t* to, std::size_t stride) {
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
    transpose_blocks::spread_words<V, n>(block, to, stride);
  }

  // 16 levels of 3 bits to 4: eights apart, then fours, pairs, and single levels.
  static std::uint64_t widened(std::uint64_t levels) {
    levels = (levels & 0xFFFFFF) | (levels & 0xFFFFFF000000) << 8;
    levels = (levels & 0x00000FFF00000FFF) | (levels & 0x00FFF00000FFF000) << 4;
    levels = (levels & 0x003F003F003F003F) | (levels & 0x0FC00FC00FC00FC0) << 2;
    return (levels & 0x0707070707070707) | (levels & 0x3838383838383838) << 1;
  }

  static void rows_to_words(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words,
                            std::size_t first_word, std::size_t last_word, unsigned bits, std::uint64_t* words,
                            std::size_t stride) {
    for (std::size_t i = 0; i < n_rows; ++i) {
      const std::uint64_t* row = rows + i * row_words;
      for (std::size_t w = first_word; w < last_word; ++w)
        words[(w - first_word) * stride + i] =
            bits == 3 ? widened(transpose_blocks::three_bit_levels<V>(row, row_words, w)) : row[w];
    }
  }
};

}  // namespace

const TransposeOp code_transpose = transpose_blocks::op<V>;

}  // namespace lowtide::scalar
