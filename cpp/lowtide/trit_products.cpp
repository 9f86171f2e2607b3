#include "lowtide/trit_products.hpp"

#include <algorithm>
#include <vector>

#include "lowtide/buffer.hpp"
#include "lowtide/layout.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/parallel.hpp"
#include "lowtide/tile_pairs.hpp"

namespace lowtide {
namespace {

constexpr std::size_t tile_sums = kGramTile * kGramTile;

// The even bits of a word side by side.
std::uint64_t even_bits(std::uint64_t x) {
  x &= 0x5555555555555555u;
  x = (x | x >> 1) & 0x3333333333333333u;
  x = (x | x >> 2) & 0x0F0F0F0F0F0F0F0Fu;
  x = (x | x >> 4) & 0x00FF00FF00FF00FFu;
  x = (x | x >> 8) & 0x0000FFFF0000FFFFu;
  return (x | x >> 16) & 0x00000000FFFFFFFFu;
}

// Writes word w of both planes of a row.
void write_planes(std::uint64_t pluses, std::uint64_t minuses, std::size_t w, std::uint64_t* planes) {
  std::uint64_t* group = planes + w / kTritGroup * 2 * kTritGroup + w % kTritGroup;
  group[0] = pluses ^ minuses;
  group[kTritGroup] = minuses;
}

// Rows as planes, trit_words(n_levels) words each.
Buffer<std::uint64_t> planes_of_rows(const TritMatrix& trits) {
  const std::size_t row_words = words_per_row(trits.n_levels, 2), words = trit_words(trits.n_levels);
  auto planes = make_buffer<std::uint64_t>(trits.n_rows * words);
  parallel_for(trits.n_rows, 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint64_t* row = trits.rows + i * row_words;
      for (std::size_t w = 0; w < words / 2; ++w) {
        const std::uint64_t low = 2 * w < row_words ? row[2 * w] : 0, high = 2 * w + 1 < row_words ? row[2 * w + 1] : 0;
        write_planes(even_bits(low) | even_bits(high) << 32, even_bits(low >> 1) | even_bits(high >> 1) << 32, w,
                     planes.get() + i * words);
      }
    }
  });
  return planes;
}

// Sums of every pair of tiles, [pair][kGramTile][kGramTile], over all rows.
std::vector<std::int32_t> sum_pairs(const TritMatrix& trits, const std::vector<TilePair>& pairs) {
  const std::size_t run = std::min(kTritGramRows, trits.n_rows), row_words = words_per_row(trits.n_levels, 2);
  std::vector<std::int32_t> sums(pairs.size() * tile_sums, 0);
  const TritGramOp& op = ops().trit_gram;
  const auto operand = make_buffer<std::uint64_t>(op.operand_bytes(trits.n_levels, run) / 8);
  for (std::size_t begin = 0; begin < trits.n_rows; begin += run) {
    const std::size_t n_rows = std::min(run, trits.n_rows - begin);
    const std::uint64_t* rows = trits.rows + begin * row_words;
    parallel_for(gram_tiles(trits.n_levels), 2, [&](std::size_t first, std::size_t last) {
      op.prepare(rows, n_rows, trits.n_levels, first, last, operand.get());
    });
    parallel_for(pairs.size(), 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i)
        op.tile(operand.get(), n_rows, pairs[i].s, pairs[i].t, sums.data() + i * tile_sums);
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
    for (std::size_t i = first; i < last; ++i)
      write_tile(trits.n_levels, pairs[i], sums.data() + i * tile_sums, trits.value * trits.value, out);
  });
}

template <typename T>
void trit_dot(const TritMatrix& a, const TritMatrix& b, T* out) {
  constexpr std::size_t rows_a = 16, rows_b = 256;
  const std::size_t words = trit_words(a.n_levels), n_groups = trit_groups(a.n_levels);
  const auto left = planes_of_rows(a);
  const auto other = a.rows == b.rows && a.n_rows == b.n_rows ? nullptr : planes_of_rows(b);
  const std::uint64_t* right = other ? other.get() : left.get();
  const double scale = a.value * b.value;
  parallel_for(a.n_rows, rows_a, [&](std::size_t begin, std::size_t end) {
    std::vector<std::int32_t> sums(rows_a * rows_b);
    for (std::size_t i = begin; i < end; i += rows_a) {
      const std::size_t i_end = std::min(end, i + rows_a);
      for (std::size_t j = 0; j < b.n_rows; j += rows_b) {
        const std::size_t j_end = std::min(b.n_rows, j + rows_b);
        std::fill(sums.begin(), sums.end(), 0);
        ops().trit_sums(left.get() + i * words, i_end - i, right + j * words, j_end - j, n_groups, sums.data(), rows_b);
        for (std::size_t x = i; x < i_end; ++x)
          for (std::size_t y = j; y < j_end; ++y)
            out[x * b.n_rows + y] = static_cast<T>(scale * sums[(x - i) * rows_b + y - j]);
      }
    }
  });
}

template void trit_gram(const TritMatrix&, float*);
template void trit_gram(const TritMatrix&, double*);
template void trit_dot(const TritMatrix&, const TritMatrix&, float*);
template void trit_dot(const TritMatrix&, const TritMatrix&, double*);

}  // namespace lowtide
