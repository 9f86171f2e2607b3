// Four bits at a time: popcount(nibble of a row AND nibble of another) is a byte of one of sixteen tables of sixteen
// bytes, picked by the one and read for 32 others at once by vpshufb. Two instructions, vpshufb and vpaddb, do 128 pairs
// of bits; carry-save counting needs six or seven for 256, popcnt one for 64 and two more to get there. Binds: the
// shuffle, one or two a cycle; blocks of 2 x 128 rows keep 8 byte sums in registers.
#include "lowtide/ops/code_dot/nibbles_avx2.hpp"

namespace lowtide::avx2 {
namespace {

void multiply(const DotTile& tile) {
  static constexpr nibbles::Tables tables = nibbles::of_bits();
  NibbleTiles::multiply(tables, tile, 0);
}

}  // namespace

// Panels of 64 words take 128 KB each: four of either side of a product stay in L2.
const DotOp code_dot = {64, nibbles::panel_bytes, NibbleTiles::prepare, multiply};

std::uint32_t code_ones(const std::uint64_t* row, std::size_t n_words) {
  std::uint64_t total = 0;
  for (std::size_t w = 0; w < n_words; ++w) total += static_cast<std::uint64_t>(_mm_popcnt_u64(row[w]));
  return static_cast<std::uint32_t>(total);
}

}  // namespace lowtide::avx2
