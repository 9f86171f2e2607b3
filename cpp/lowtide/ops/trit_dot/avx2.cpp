// Two trits at a time: the product of two nibbles, plus 2 so that it is not negative, is a byte of one of sixteen tables,
// as in code_dot. Two instructions, vpshufb and vpaddb, do 64 pairs of trits; popcnt would take six for as many. The 2s
// are taken off at the end.
#include "lowtide/ops/trit_dot/trit_dot.hpp"

#include "lowtide/ops/code_dot/nibbles_avx2.hpp"
#include "lowtide/ops/trit_dot/trit_tables.hpp"

namespace lowtide::avx2 {
namespace {

void multiply(const DotTile& tile) {
  static constexpr nibbles::Tables tables = nibbles::of_trits();
  NibbleTiles::multiply(tables, tile, -2);
}

}  // namespace

// Panels of 64 words take 128 KB each: four of either side of a product stay in L2.
const DotOp trit_dot = {64, nibbles::panel_bytes, NibbleTiles::prepare, multiply};

}  // namespace lowtide::avx2
