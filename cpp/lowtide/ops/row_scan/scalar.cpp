#include "lowtide/ops/row_scan/row_scan.hpp"

namespace lowtide::scalar {

void row_scan(const std::uint64_t* rows, std::size_t n_rows, std::size_t row_words, unsigned bits,
              const std::uint8_t* tables, const std::int8_t* weights, std::int32_t* sums) {
  const std::size_t places = 4 / bits, stride = row_stride(row_words);
  for (std::size_t r = 0; r < n_rows; ++r) {
    std::int32_t sum = 0;
    for (std::size_t g = 0; g < 16 * row_words; ++g) {
      const unsigned nibble = rows[r * row_words + g / 16] >> (4 * (g % 16)) & 15;
      for (std::size_t p = 0; p < places; ++p)
        sum += tables[16 * p + nibble] * weights[(g % 2 * places + p) * stride + g / 2];
    }
    sums[r] = sum;
  }
}

}  // namespace lowtide::scalar
