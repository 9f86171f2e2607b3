// encode: projected values to levels, by borders on the phase.
//
// Frequency j of n has the phase, in turns (one turn is 2 pi),
//     t = v[j] * scale[j] + offset[j]          one rounding a product, one a sum, never fused
// and for each shift k < width a level
//     u = t + shifts[k]
//     even:      f = |u - rint(u)|, in [0, 1/2], ties to even       index = #{i : f <= borders[i]}
//     otherwise: f = u - floor(u); f = f < 1 ? f : 0, in [0, 1)     index = #{i : f >= borders[i]}
//     level[j * width + k] = table[index]
// A u that is not finite counts as f = 0. Borders ascend; even ones are in [0, 1/2], others in (0, 1). All levels give
// the same bits. Tails go through a padded copy of the last few frequencies.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lowtide {

constexpr unsigned max_borders = 511;
constexpr unsigned max_width = 8;

// What encode does to a phase, laid out for search: c = #{i : borders[i] < f} if even, else #{i : borders[i] <= f}.
// Since borders ascend, index is n_borders - c if even, else c; the table is stored by c, so level = table[c].
struct LevelRule {
  unsigned width;
  bool even;
  unsigned n_borders;
  unsigned n_steps;  // halvings of the search: 2^n_steps > n_borders
  bool equal;        // not even, and borders[i] = (i + 1) / 2^n_steps: then c = floor(f * 2^n_steps), exactly
  float shifts[max_width];
  alignas(64) float borders[max_borders + 1];  // infinite from n_borders on
  alignas(64) std::int32_t table[max_borders + 1];
};

// One even border and two different levels of one bit, for width 1 or 2: bit = (f <= border) != flip.
struct BitRule {
  unsigned width;
  bool flip;
  float shifts[2];
  float border;
};

// levels: (n * width,) bytes.
using EncodeLevelsFn = void (*)(const float* v, std::size_t n, const float* scale, const float* offset,
                                const LevelRule& rule, std::uint8_t* levels);

// row: words_per_row(n_levels, 1) words, written whole, padding zero; n_levels <= n * width.
using EncodeBitsFn = void (*)(const float* v, std::size_t n, const float* scale, const float* offset,
                              const BitRule& rule, std::size_t n_levels, std::uint64_t* row);

#define LOWTIDE_DECLARE_ENCODE                                                                                      \
  void encode_levels(const float* v, std::size_t n, const float* scale, const float* offset, const LevelRule& rule, \
                     std::uint8_t* levels);                                                                         \
  void encode_bits(const float* v, std::size_t n, const float* scale, const float* offset, const BitRule& rule,     \
                   std::size_t n_levels, std::uint64_t* row);
namespace scalar {
LOWTIDE_DECLARE_ENCODE
}
namespace avx2 {
LOWTIDE_DECLARE_ENCODE
}
namespace avx512 {
LOWTIDE_DECLARE_ENCODE
}
namespace neon {
LOWTIDE_DECLARE_ENCODE
}
#undef LOWTIDE_DECLARE_ENCODE

}  // namespace lowtide
