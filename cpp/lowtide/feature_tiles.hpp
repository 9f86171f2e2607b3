// Square tiles of the product of a code matrix with itself, summed by a thread each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "lowtide/code_products.hpp"
#include "lowtide/layout.hpp"
#include "lowtide/parallel.hpp"
#include "lowtide/tile_pairs.hpp"

namespace lowtide {

class FeatureTiles {
 public:
  // Columns of a panel, of which a tile has a whole number.
  static constexpr std::size_t panel = 16;

  // Tiles of `largest` columns or fewer: whole words of levels, and tiles enough for all threads.
  FeatureTiles(const CodeMatrix& codes, std::size_t largest)
      : codes_(codes), n_features_(codes.n_levels * codes.width), size_(largest) {
    const std::size_t smallest = 64 * codes.width, wanted = 3 * static_cast<std::size_t>(thread_count());
    while (size_ > smallest && n_features_ < size_ * wanted) size_ /= 2;
  }

  std::size_t size() const { return size_; }
  std::size_t count() const { return (n_features_ + size_ - 1) / size_; }
  std::size_t columns(std::size_t tile) const { return std::min(size_, n_features_ - tile * size_); }
  std::size_t panels(std::size_t tile) const { return (columns(tile) + panel - 1) / panel; }

  // The words of a row that a tile begins with; those of rows to come are asked for, since a piece of every row is too
  // short a stream for the processor to see it coming.
  const std::uint64_t* words(std::size_t tile, std::size_t row) const {
    constexpr std::size_t rows_ahead = 16;
    const std::size_t row_words = words_per_row(codes_.n_levels, codes_.bits);
    const std::uint64_t* found = codes_.rows + row * row_words + tile * size_ / codes_.width * codes_.bits / 64;
    const char* ahead = reinterpret_cast<const char*>(found + rows_ahead * row_words);
    for (std::size_t i = 0; i < columns(tile) / codes_.width * codes_.bits / 8; i += 64) __builtin_prefetch(ahead + i);
    return found;
  }

  // Writes unit * sums (size, stride) of a pair of tiles, and its mirror image. On the diagonal the upper triangle
  // counts: with weights the two differ in their last bits.
  void write(TilePair pair, const float* sums, std::size_t stride, double unit, float* out) const {
    const std::size_t rows = columns(pair.s), width = columns(pair.t);
    float* corner = out + pair.s * size_ * n_features_ + pair.t * size_;
    float* mirrored = out + pair.t * size_ * n_features_ + pair.s * size_;
    for (std::size_t first = 0; first < rows; first += panel) {
      const std::size_t last = std::min(rows, first + panel), start = pair.s == pair.t ? first : 0;
      for (std::size_t i = first; i < last; ++i)
        for (std::size_t j = start; j < width; ++j)
          corner[i * n_features_ + j] = static_cast<float>(unit * static_cast<double>(sums[i * stride + j]));
      for (std::size_t j = start; j < width; ++j)
        for (std::size_t i = first; i < last; ++i)
          if (pair.s != pair.t || i < j) mirrored[j * n_features_ + i] = corner[i * n_features_ + j];
    }
  }

 private:
  const CodeMatrix& codes_;
  std::size_t n_features_, size_;
};

}  // namespace lowtide
