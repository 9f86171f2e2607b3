#include "lowtide/trit_products.hpp"

#include <algorithm>
#include <vector>

#include "lowtide/buffer.hpp"
#include "lowtide/layout.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/parallel.hpp"

namespace lowtide {
namespace {

constexpr std::size_t tile_levels = 128;
constexpr std::size_t tile_sums = tile_levels * tile_levels;
constexpr std::size_t run_rows = 65536;

struct TilePair {
  std::size_t s, t;
};

std::vector<TilePair> upper_pairs(std::size_t n_tiles) {
  std::vector<TilePair> pairs;
  for (std::size_t s = 0; s < n_tiles; ++s)
    for (std::size_t t = s; t < n_tiles; ++t) pairs.push_back({s, t});
  return pairs;
}

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

// Levels [first, last) of n_rows rows as planes, a row a level; levels past the end are zeros.
void planes_of_levels(const TritMatrix& trits, std::size_t begin, std::size_t n_rows, std::size_t first,
                      std::size_t last, std::uint64_t* planes) {
  // As 1-bit levels, pluses and minuses of a level are two neighbors.
  const std::size_t row_words = words_per_row(trits.n_levels, 2), bit_words = words_per_row(n_rows, 1);
  const std::size_t words = trit_words(n_rows);
  const auto columns = make_buffer<std::uint64_t>(64 * bit_words);
  for (std::size_t w = first / 32; w < last / 32; ++w) {
    if (w < row_words)
      ops().code_transpose(trits.rows + begin * row_words, n_rows, row_words, w, w + 1, 1, columns.get(), bit_words);
    for (std::size_t j = 0; j < 32; ++j)
      for (std::size_t u = 0; u < words / 2; ++u) {
        const bool there = w < row_words && u < bit_words;
        const std::uint64_t* column = columns.get() + 2 * j * bit_words + u;
        write_planes(there ? column[0] : 0, there ? column[bit_words] : 0, u, planes + (32 * w + j) * words);
      }
  }
}

// Sums of every pair of tiles, [pair][tile_levels][tile_levels], over all rows.
std::vector<std::int32_t> sum_pairs(const TritMatrix& trits, const std::vector<TilePair>& pairs, std::size_t n_tiles) {
  const std::size_t run = std::min(run_rows, trits.n_rows);
  std::vector<std::int32_t> sums(pairs.size() * tile_sums, 0);
  const auto planes = make_buffer<std::uint64_t>(n_tiles * tile_levels * trit_words(run));
  for (std::size_t begin = 0; begin < trits.n_rows; begin += run) {
    const std::size_t n_rows = std::min(run, trits.n_rows - begin), words = trit_words(n_rows);
    parallel_for(n_tiles, 1, [&](std::size_t first, std::size_t last) {
      planes_of_levels(trits, begin, n_rows, first * tile_levels, last * tile_levels, planes.get());
    });
    parallel_for(pairs.size(), 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i)
        ops().trit_sums(planes.get() + pairs[i].s * tile_levels * words, tile_levels,
                        planes.get() + pairs[i].t * tile_levels * words, tile_levels, trit_groups(n_rows),
                        sums.data() + i * tile_sums, tile_levels);
    });
  }
  return sums;
}

// Writes one tile of sums and its mirror image.
template <typename T>
void write_tile(std::size_t n_levels, TilePair pair, const std::int32_t* sums, double scale, T* out) {
  const std::size_t j_end = std::min(n_levels, (pair.s + 1) * tile_levels);
  const std::size_t k_end = std::min(n_levels, (pair.t + 1) * tile_levels);
  for (std::size_t j = pair.s * tile_levels; j < j_end; ++j) {
    const std::int32_t* row = sums + j % tile_levels * tile_levels;
    for (std::size_t k = std::max(j, pair.t * tile_levels); k < k_end; ++k)
      out[j * n_levels + k] = out[k * n_levels + j] = static_cast<T>(scale * row[k % tile_levels]);
  }
}

}  // namespace

template <typename T>
void trit_gram(const TritMatrix& trits, T* out) {
  const std::size_t n_tiles = (trits.n_levels + tile_levels - 1) / tile_levels;
  const auto pairs = upper_pairs(n_tiles);
  const auto sums = sum_pairs(trits, pairs, n_tiles);
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
