// A panel is [digit][column][row].
#include <initializer_list>

#include "lowtide/ops/digit_product/digit_product.hpp"

namespace lowtide::scalar {
namespace {

void prepare(const DigitPanels& p) {
  for (std::size_t j = 0; j < p.n_columns; ++j) {
    for (std::size_t d = 0; d < kDigits; ++d) {
      const std::size_t first =
          j / kDigitColumns * kDigitPanelBytes + (d * kDigitColumns + j % kDigitColumns) * kDigitRows;
      for (std::int8_t* side : {p.left, p.right})
        for (std::size_t i = 0; side != nullptr && i < p.n_rows; ++i)
          side[first + i] = p.tables->digit[d][p.positions[i * p.n_columns + j]];
    }
  }
}

std::int32_t sum(const std::int8_t* a, const std::int8_t* b, std::size_t n) {
  std::int32_t total = 0;
  for (std::size_t i = 0; i < n; ++i) total += a[i] * b[i];
  return total;
}

float value(const std::int8_t* a, const std::int8_t* b, std::size_t n) {
  constexpr std::size_t digit = kDigitColumns * kDigitRows;
  const std::int32_t high = sum(a, b, n), mid = sum(a, b + digit, n) + sum(a + digit, b, n);
  const std::int32_t low = sum(a, b + 2 * digit, n) + sum(a + 2 * digit, b, n) + sum(a + digit, b + digit, n);
  return static_cast<float>(high) + static_cast<float>(mid) * 0x1p-8f + static_cast<float>(low) * 0x1p-16f;
}

void multiply(const DigitProduct& p) {
  for (std::size_t i = 0; i < p.n_left * kDigitColumns; ++i) {
    const std::int8_t* a = p.left + i / kDigitColumns * kDigitPanelBytes + i % kDigitColumns * kDigitRows;
    const std::size_t first = p.upper ? i / kDigitColumns * kDigitColumns : 0;
    for (std::size_t j = first; j < p.n_right * kDigitColumns; ++j) {
      const std::int8_t* b = p.right + j / kDigitColumns * kDigitPanelBytes + j % kDigitColumns * kDigitRows;
      p.sums[i * p.stride + j] += value(a, b, p.n_rows);
    }
  }
}

}  // namespace

const DigitOp digit_product = {prepare, multiply};

}  // namespace lowtide::scalar
