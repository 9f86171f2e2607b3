// Two trits at a time, as in the AVX2 form, in registers of 64 rows: vpshufb and vpaddb do 128 pairs of trits. For processors
// without vpopcntq. Binds: the shuffle, one a cycle.
#include "lowtide/ops/trit_dot/trit_dot.hpp"

#include "lowtide/ops/code_dot/nibbles_avx512.hpp"
#include "lowtide/ops/trit_dot/trit_tables.hpp"

namespace lowtide::avx512 {
namespace {

void prepare(const std::uint64_t* rows, std::size_t n_rows, std::size_t stride, std::size_t n_words, void* panel) {
  avx2::trit_dot.prepare(rows, n_rows, stride, n_words, panel);
}

void multiply(const DotTile& tile) {
  static constexpr nibbles::Tables tables = nibbles::of_trits();
  NibbleTiles::multiply(tables, tile, -2);
}

}  // namespace

const DotOp trit_dot = {64, nibbles::panel_bytes, prepare, multiply};

}  // namespace lowtide::avx512
