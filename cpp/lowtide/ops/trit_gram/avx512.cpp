// Two rows at a time on the operand of the AVX2 form, in registers of 64 levels. For processors without vpopcntq. Binds:
// the shuffle, one a cycle.
#include "lowtide/ops/code_dot/nibbles_avx512.hpp"
#include "lowtide/ops/trit_dot/trit_tables.hpp"
#include "lowtide/ops/trit_gram/trit_gram.hpp"

namespace lowtide::avx512 {
namespace {

std::size_t operand_bytes(std::size_t n_levels, std::size_t n_rows) {
  return avx2::trit_gram.operand_bytes(n_levels, n_rows);
}

void prepare(const std::uint64_t* rows, std::size_t n_rows, std::size_t n_levels, std::size_t first_tile,
             std::size_t last_tile, void* operand) {
  avx2::trit_gram.prepare(rows, n_rows, n_levels, first_tile, last_tile, operand);
}

void tile(const void* operand, std::size_t n_rows, std::size_t s, std::size_t t, std::int32_t* sums) {
  static constexpr nibbles::Tables tables = nibbles::of_trits();
  NibbleTiles::multiply(tables, operand, (n_rows + 1) / 2, s, t, std::int32_t{-2}, sums);
}

}  // namespace

const TritGramOp trit_gram = {operand_bytes, prepare, tile};

}  // namespace lowtide::avx512
