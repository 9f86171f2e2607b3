#include "lowtide/trit_products.hpp"

#include <algorithm>
#include <vector>

#include "lowtide/buffer.hpp"
#include "lowtide/cancel.hpp"
#include "lowtide/layout.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/parallel.hpp"
#include "lowtide/row_products.hpp"
#include "lowtide/tile_pairs.hpp"

namespace lowtide {
namespace {

constexpr std::size_t tile_sums = kGramTile * kGramTile;

// Sums of every pair of tiles, [pair][kGramTile][kGramTile], over all rows.
Buffer<std::int32_t> sum_pairs(const TritMatrix& trits, const std::vector<TilePair>& pairs) {
  const std::size_t run = std::min(kTritGramRows, trits.n_rows), row_words = words_per_row(trits.n_levels, 2);
  auto sums = make_buffer<std::int32_t>(pairs.size() * tile_sums);
  fill_zeros(pairs.size() * tile_sums * sizeof(std::int32_t), sums.get());
  const TritGramOp& op = ops().trit_gram;
  const auto operand = make_buffer<std::uint64_t>(op.operand_bytes(trits.n_levels, run) / 8);
  for (std::size_t begin = 0; begin < trits.n_rows; begin += run) {
    const std::size_t n_rows = std::min(run, trits.n_rows - begin);
    const std::uint64_t* rows = trits.rows + begin * row_words;
    parallel_for(gram_tiles(trits.n_levels), 2, [&](std::size_t first, std::size_t last) {
      polled_blocks(first, last, 2, [&](std::size_t tile, std::size_t end) {
        op.prepare(rows, n_rows, trits.n_levels, tile, end, operand.get());
      });
    });
    parallel_for(pairs.size(), 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        poll();
        op.tile(operand.get(), n_rows, pairs[i].s, pairs[i].t, sums.get() + i * tile_sums);
      }
    });
  }
  return sums;
}

// Writes one tile of sums and its mirror image.
template <typename T>
void write_tile(std::size_t n_levels, TilePair pair, const std::int32_t* sums, double scale, T* out) {
  const std::size_t j_end = std::min(n_levels, (pair.s + 1) * kGramTile);
  const std::size_t k_end = std::min(n_levels, (pair.t + 1) * kGramTile);
  for (std::size_t j = pair.s * kGramTile; j < j_end; ++j) {
    const std::int32_t* row = sums + j % kGramTile * kGramTile;
    for (std::size_t k = std::max(j, pair.t * kGramTile); k < k_end; ++k)
      out[j * n_levels + k] = out[k * n_levels + j] = static_cast<T>(scale * row[k % kGramTile]);
  }
}

}  // namespace

template <typename T>
void trit_gram(const TritMatrix& trits, T* out) {
  const auto pairs = upper_pairs(gram_tiles(trits.n_levels));
  const auto sums = sum_pairs(trits, pairs);
  parallel_for(pairs.size(), 1, [&](std::size_t first, std::size_t last) {
    polled_blocks(first, last, 1, [&](std::size_t i, std::size_t) {
      write_tile(trits.n_levels, pairs[i], sums.get() + i * tile_sums, trits.value * trits.value, out);
    });
  });
}

template <typename T>
void trit_dot(const TritMatrix& a, const TritMatrix& b, T* out) {
  const std::size_t words = words_per_row(a.n_levels, 2);
  const bool mirrored = a.rows == b.rows && a.n_rows == b.n_rows;
  const double scale = a.value * b.value;
  row_products(ops().trit_dot, {a.rows, a.n_rows, words}, {b.rows, b.n_rows, words}, mirrored,
               [&](const RowTile& tile) {
                 for (std::size_t x = 0; x < tile.n_i; ++x) {
                   T* to = out + (tile.i + x) * b.n_rows + tile.j;
                   for (std::size_t y = 0; y < tile.n_j; ++y)
                     to[y] = static_cast<T>(scale * tile.sums[x * kDotRows + y]);
                 }
                 if (mirrored) mirror_tile(b.n_rows, tile.i, tile.i + tile.n_i, tile.j, tile.j + tile.n_j, out);
               });
}

template void trit_gram(const TritMatrix&, float*);
template void trit_gram(const TritMatrix&, double*);
template void trit_dot(const TritMatrix&, const TritMatrix&, float*);
template void trit_dot(const TritMatrix&, const TritMatrix&, double*);

}  // namespace lowtide
