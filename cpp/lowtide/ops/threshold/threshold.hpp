// threshold: projected values of a row to levels, by borders on the line that are symmetric about 0.
//
// With half = n_borders + 1, a power of two, projection j of n has the level
//     u = (v[j] * factor) * scale[j]          one rounding a product
//     c = #{i : borders[i] <= |u|}
//     level[j] = u < 0 ? half - 1 - c : half + c
// so levels ascend with u, 0 .. 2 half - 1; zeros of either sign and what is not a number count as +0. Borders are
// positive and ascend. All levels of instructions give the same bits. Tails go through a padded copy of the last few.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lowtide {

constexpr unsigned max_line_borders = 127;
constexpr unsigned max_line_cells = 512;

// The positive borders, laid out for search: by halving, or by cells of equal width. |u| lies in cell
// k = min(floor(|u| * cells), n_cells - 1), and start[k] borders in lower ones; multiplying by a number keeps order, so
// those are reached, and of the others at most `most` can be, which lie in the same cell.
struct LineRule {
  unsigned n_borders;
  unsigned n_steps;                                 // halvings of the search: 2^n_steps = n_borders + 1
  alignas(64) float borders[max_line_borders + 1];  // no numbers from n_borders on: never reached
  float cells;
  unsigned n_cells;
  unsigned most;
  std::int32_t start[max_line_cells];
};

// The rule of n_borders positive, ascending borders, their number one less than a power of two.
LineRule line_rule(const float* borders, unsigned n_borders);

// levels: (n,) bytes.
using ThresholdLevelsFn = void (*)(const float* v, std::size_t n, const float* scale, float factor,
                                   const LineRule& rule, std::uint8_t* levels);

// No borders but 0, so one bit a projection. row: words_per_row(n, 1) words, written whole, padding zero.
using ThresholdBitsFn = void (*)(const float* v, std::size_t n, const float* scale, float factor, std::uint64_t* row);

#define LOWTIDE_DECLARE_THRESHOLD                                                                              \
  void threshold_levels(const float* v, std::size_t n, const float* scale, float factor, const LineRule& rule, \
                        std::uint8_t* levels);                                                                 \
  void threshold_bits(const float* v, std::size_t n, const float* scale, float factor, std::uint64_t* row);
namespace scalar {
LOWTIDE_DECLARE_THRESHOLD
}
namespace avx2 {
LOWTIDE_DECLARE_THRESHOLD
}
namespace avx512 {
LOWTIDE_DECLARE_THRESHOLD
}
namespace neon {
LOWTIDE_DECLARE_THRESHOLD
}
#undef LOWTIDE_DECLARE_THRESHOLD

}  // namespace lowtide
