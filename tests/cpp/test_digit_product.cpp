#include <random>

#include "check.hpp"
#include "lowtide/buffer.hpp"
#include "lowtide/ops.hpp"

namespace {

using lowtide::Isa;
using lowtide::kDigitColumns;
using lowtide::kDigitPanelBytes;
using lowtide::kDigitRows;

struct Sides {
  lowtide::Buffer<std::int8_t> left, right;
};

struct Sample {
  std::size_t n_rows, n_columns;
  std::vector<std::uint8_t> positions;
  lowtide::DigitTables tables{};

  Sample(std::size_t rows, std::size_t columns) : n_rows(rows), n_columns(columns), positions(kDigitRows * columns) {
    std::mt19937 generator(static_cast<unsigned>(rows + columns));
    for (auto& position : positions) position = static_cast<std::uint8_t>(generator() % 32);
    // The extremes too: -128 times -128 in every row is the largest sum.
    for (auto& digits : tables.digit)
      for (std::size_t i = 0; i < lowtide::kNoPosition; ++i)
        digits[i] = static_cast<std::int8_t>(i % 3 == 0 ? -128 : static_cast<int>(generator() % 256) - 128);
  }

  // Made anew: preparing may write into the rows after the last.
  Sides panels(Isa level, bool with_left, bool with_right) const {
    const std::size_t size = n_columns / kDigitColumns * kDigitPanelBytes;
    Sides sides{lowtide::make_buffer<std::int8_t>(size), lowtide::make_buffer<std::int8_t>(size)};
    std::vector<std::uint8_t> copy = positions;
    lowtide::ops_at(level).digit_product.prepare({copy.data(), n_rows, n_columns, &tables,
                                                  with_left ? sides.left.get() : nullptr,
                                                  with_right ? sides.right.get() : nullptr});
    return sides;
  }

  // Two runs into the same sums, in a matrix wider than they are.
  std::vector<float> sums(Isa level, bool upper, bool apart) const {
    const std::size_t n = n_columns / kDigitColumns, stride = n_columns + 5;
    std::vector<float> found(n_columns * stride, 0.25f);
    const Sides both = panels(level, true, true), one = panels(level, true, false), other = panels(level, false, true);
    for (int run = 0; run < 2; ++run)
      lowtide::ops_at(level).digit_product.multiply({apart ? one.left.get() : both.left.get(),
                                                     apart ? other.right.get() : both.right.get(), n_rows, n, n, upper,
                                                     found.data(), stride});
    return found;
  }
};

}  // namespace

LOWTIDE_TEST(digit_product_gives_the_bits_of_scalar_at_every_level) {
  for (std::size_t n_rows : {1, 3, 63, 64, 65, 200, 511, 512})
    for (std::size_t n_columns : {64, 128}) {
      const Sample sample(n_rows, n_columns);
      for (bool upper : {false, true}) {
        const auto truth = sample.sums(Isa::scalar, upper, false);
        for (Isa level : lowtide::check::runnable_levels())
          for (bool apart : {false, true})
            CHECK(lowtide::check::same_bits(truth, sample.sums(level, upper, apart)),
                  std::to_string(n_rows) + " rows at " + lowtide::isa_name(level));
      }
    }
}

LOWTIDE_TEST(digit_product_is_the_product_of_the_numbers_but_for_its_smallest_digits) {
  const Sample sample(512, 64);
  const auto sums = sample.sums(Isa::scalar, false, false);
  const auto number = [&](std::size_t row, std::size_t column) {
    const std::uint8_t at = sample.positions[row * 64 + column];
    const auto& digit = sample.tables.digit;
    return digit[0][at] * 65536.0 + digit[1][at] * 256.0 + digit[2][at];
  };
  for (std::size_t i = 0; i < 64; ++i)
    for (std::size_t j = 0; j < 64; ++j) {
      double exact = 0.0;
      for (std::size_t row = 0; row < 512; ++row) exact += number(row, i) * number(row, j);
      // Three products of at most 2^14 are left out, 2^8 and once; a float32 sum is rounded a few times.
      const double left_out = 512 * (2 * 0x1p22 + 0x1p14), rounded = 6 * 0x1p-24 * 512 * 0x1p46;
      CHECK(std::abs(0x1p32 * (sums[i * 69 + j] - 0.25) - 2 * exact) <= 2 * (left_out + rounded));
    }
}
