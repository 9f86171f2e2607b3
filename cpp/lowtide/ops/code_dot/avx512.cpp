// Four bits at a time, as in the AVX2 form, in registers of 64 rows: vpshufb and vpaddb do 256 pairs of bits. For processors
// without vpopcntq. Binds: the shuffle, one a cycle.
#include "lowtide/ops/code_dot/nibbles_avx512.hpp"

namespace lowtide::avx512 {
namespace {

void prepare(const std::uint64_t* rows, std::size_t n_rows, std::size_t stride, std::size_t n_words, void* panel) {
  avx2::code_dot.prepare(rows, n_rows, stride, n_words, panel);
}

void multiply(const DotTile& tile) {
  static constexpr nibbles::Tables tables = nibbles::of_bits();
  NibbleTiles::multiply(tables, tile, 0);
}

}  // namespace

const DotOp code_dot = {64, nibbles::panel_bytes, prepare, multiply};

}  // namespace lowtide::avx512
