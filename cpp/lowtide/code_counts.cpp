#include "lowtide/code_counts.hpp"

#include <algorithm>
#include <vector>

#include "lowtide/buffer.hpp"
#include "lowtide/cancel.hpp"
#include "lowtide/contingency.hpp"
#include "lowtide/layout.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/parallel.hpp"
#include "lowtide/row_products.hpp"
#include "lowtide/tile_pairs.hpp"

namespace lowtide {
namespace {

constexpr std::size_t kTileCounts = kGramTile * kGramTile;

// Counts of every pair of tiles, [pair][kGramTile][kGramTile], over all rows.
Buffer<std::uint32_t> count_pairs(const CodeMatrix& codes, const std::vector<TilePair>& pairs) {
  const std::size_t row_words = words_per_row(codes.n_levels, 1), n_tiles = gram_tiles(codes.n_levels);
  const std::size_t run = std::min(kGramRows, codes.n_rows);
  auto counts = make_buffer<std::uint32_t>(pairs.size() * kTileCounts);
  fill_zeros(pairs.size() * kTileCounts * sizeof(std::uint32_t), counts.get());
  const auto operand = make_buffer<std::uint64_t>(ops().code_gram.operand_bytes(codes.n_levels, run) / 8);
  for (std::size_t begin = 0; begin < codes.n_rows; begin += run) {
    const std::size_t n_rows = std::min(run, codes.n_rows - begin);
    const std::uint64_t* rows = codes.rows + begin * row_words;
    parallel_for(n_tiles, 4, [&](std::size_t first, std::size_t last) {
      polled_blocks(first, last, 4, [&](std::size_t tile, std::size_t end) {
        ops().code_gram.prepare(rows, n_rows, codes.n_levels, tile, end, operand.get());
      });
    });
    parallel_for(pairs.size(), 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        poll();
        ops().code_gram.tile(operand.get(), n_rows, codes.n_levels, pairs[i].s, pairs[i].t,
                             counts.get() + i * kTileCounts);
      }
    });
  }
  return counts;
}

// Writes one tile of counts and its mirror image.
template <typename T>
void write_tile(const CodeMatrix& codes, TilePair pair, const std::uint32_t* counts, const std::vector<double>& ones,
                T* out) {
  const std::size_t w = codes.width, n_features = codes.n_levels * w;
  const auto n = static_cast<double>(codes.n_rows);
  const std::size_t j_end = std::min(codes.n_levels, (pair.s + 1) * kGramTile);
  const std::size_t k_end = std::min(codes.n_levels, (pair.t + 1) * kGramTile);
  for (std::size_t p = 0; p < w; ++p) {
    for (std::size_t q = 0; q < w; ++q) {
      Contingency table;
      for (int a = 0; a < 2; ++a)
        for (int b = 0; b < 2; ++b)
          table.weight[a][b] = static_cast<double>(codes.book[a * w + p]) * static_cast<double>(codes.book[b * w + q]);
      for (std::size_t j = pair.s * kGramTile; j < j_end; ++j) {
        const std::uint32_t* row = counts + j % kGramTile * kGramTile;
        for (std::size_t k = std::max(j, pair.t * kGramTile); k < k_end; ++k) {
          const auto value = static_cast<T>(table.value(n, ones[j], ones[k], row[k % kGramTile]));
          out[(j * w + p) * n_features + k * w + q] = value;
          out[(k * w + q) * n_features + j * w + p] = value;
        }
      }
    }
  }
}

std::vector<double> ones_of_rows(const CodeMatrix& codes) {
  const std::size_t row_words = words_per_row(codes.n_levels, 1);
  std::vector<double> ones(codes.n_rows);
  parallel_for(codes.n_rows, 64, [&](std::size_t begin, std::size_t end) {
    polled_blocks(begin, end, items_a_block(row_words), [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) ones[i] = ops().code_ones(codes.rows + i * row_words, row_words);
    });
  });
  return ones;
}

// Values of a tile of counts. Of locals, and nothing that could be written to by `to`: so the loops are vector code.
template <typename T>
void write_values(const Contingency& shared, double n, const double* ones_a, const double* ones_b, const RowTile& tile,
                  std::size_t stride, T* out) {
  const Contingency table = shared;
  const bool symmetric = table.is_symmetric();
  for (std::size_t x = 0; x < tile.n_i; ++x) {
    const std::int32_t* __restrict both = tile.sums + x * kDotRows;
    const double* __restrict others = ones_b + tile.j;
    T* __restrict to = out + (tile.i + x) * stride + tile.j;
    const double ones = ones_a[tile.i + x];
    const std::size_t n_j = tile.n_j;
    if (symmetric) {
      for (std::size_t y = 0; y < n_j; ++y)
        to[y] = static_cast<T>(table.at_distance(n, ones + others[y] - 2 * static_cast<double>(both[y])));
    } else {
      for (std::size_t y = 0; y < n_j; ++y)
        to[y] = static_cast<T>(table.value(n, ones, others[y], static_cast<double>(both[y])));
    }
  }
}

}  // namespace

template <typename T>
void code_gram(const CodeMatrix& codes, T* out) {
  const auto pairs = upper_pairs(gram_tiles(codes.n_levels));
  const auto counts = count_pairs(codes, pairs);
  std::vector<double> ones(codes.n_levels);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (pairs[i].s != pairs[i].t) continue;
    const std::size_t first = pairs[i].s * kGramTile, last = std::min(codes.n_levels, first + kGramTile);
    for (std::size_t j = first; j < last; ++j) ones[j] = counts[i * kTileCounts + (j - first) * (kGramTile + 1)];
  }
  parallel_for(pairs.size(), 1, [&](std::size_t first, std::size_t last) {
    polled_blocks(first, last, 1, [&](std::size_t i, std::size_t) {
      write_tile(codes, pairs[i], counts.get() + i * kTileCounts, ones, out);
    });
  });
}

template <typename T>
void code_dot(const CodeMatrix& a, const CodeMatrix& b, T* out) {
  const std::size_t words = words_per_row(a.n_levels, 1);
  const auto n = static_cast<double>(a.n_levels);
  const Contingency table = row_contingency(a, b);
  const bool mirrored = a.rows == b.rows && a.n_rows == b.n_rows && table.weight[0][1] == table.weight[1][0];
  const auto left = ones_of_rows(a), other = mirrored ? std::vector<double>() : ones_of_rows(b);
  const double *ones_a = left.data(), *ones_b = mirrored ? left.data() : other.data();
  row_products(ops().code_dot, {a.rows, a.n_rows, words}, {b.rows, b.n_rows, words}, mirrored,
               [&](const RowTile& tile) {
                 write_values(table, n, ones_a, ones_b, tile, b.n_rows, out);
                 if (mirrored) mirror_tile(b.n_rows, tile.i, tile.i + tile.n_i, tile.j, tile.j + tile.n_j, out);
               });
}

template void code_gram(const CodeMatrix&, float*);
template void code_gram(const CodeMatrix&, double*);
template void code_dot(const CodeMatrix&, const CodeMatrix&, float*);
template void code_dot(const CodeMatrix&, const CodeMatrix&, double*);

}  // namespace lowtide
