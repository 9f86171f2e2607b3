// digit_product: products of columns of a matrix of few distinct values, from exact sums of products of bytes.
//
// A value is a position in a table of up to 63 numbers, each written as digits [0] 2^16 + [1] 2^8 + [2], digits from
// -128 to 127: 24 bits, as many as float32 has. Of the nine products of digits the six largest are made,
//     high = sum 00,   mid = sum 01 + 10,   low = sum 02 + 20 + 11,
// whose rest is below 2^-22 of the largest product, and one run of rows adds to the sums, in float32,
//     high + mid 2^-8 + low 2^-16, added from the left,
// in units of 2^32. Over at most kDigitRows rows high and mid fit the 24 bits of a float32, so nothing but that sum is
// rounded and every level gives the same bits.
//
// Two steps, on panels of kDigitColumns columns in the level's own order, digit_panel_bytes each:
//   prepare   rows of positions to panels for the left and for the right side of a product
//   multiply  adds panels' products to the sums, [left column][right column]
// Tail: rows are filled up with position 63, whose digits are zero; columns by the caller, with anything below 64.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lowtide {

constexpr std::size_t kDigitRows = 512, kDigitColumns = 16, kDigits = 3;
constexpr std::size_t kDigitBlock = 64;  // columns, and rows, that are prepared together
constexpr std::size_t kNoPosition = 63;
constexpr std::size_t kDigitPanelBytes = kDigitRows * kDigitColumns * kDigits;

struct DigitTables {
  alignas(64) std::int8_t digit[kDigits][kDigitBlock];
};

// positions: n_rows <= kDigitRows rows of n_columns bytes, a multiple of kDigitBlock; the rows up to the next multiple
// of kDigitBlock are there too and may be overwritten. left, right: n_columns / kDigitColumns panels each, at a
// multiple of 64 bytes.
struct DigitPanels {
  std::uint8_t* positions;
  std::size_t n_rows, n_columns;
  const DigitTables* tables;
  std::int8_t *left, *right;
};

// sums: n_left * 16 rows of n_right * 16, `stride` apart. With `upper` panels left of the diagonal are left out.
struct DigitProduct {
  const std::int8_t *left, *right;
  std::size_t n_rows, n_left, n_right;
  bool upper;
  float* sums;
  std::size_t stride;
};

struct DigitOp {
  void (*prepare)(const DigitPanels& panels);
  void (*multiply)(const DigitProduct& product);
};

namespace scalar {
extern const DigitOp digit_product;
}
namespace amx {
extern const DigitOp digit_product;
}
namespace i8mm {
extern const DigitOp digit_product;
}

}  // namespace lowtide
