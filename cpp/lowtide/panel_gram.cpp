#include "lowtide/panel_gram.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "lowtide/buffer.hpp"
#include "lowtide/layout.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/parallel.hpp"
#include "lowtide/tile_pairs.hpp"

namespace lowtide {
namespace {

constexpr std::size_t run_rows = 128, rows_at_once = 8, rows_ahead = 16;
// Between the panels of a run: a line more than they need, since at a power of two they would share a few cache sets.
constexpr std::size_t panel_stride = (run_rows + 1) * panel_width;
// A tile of sums and the panels of its two sides share the second-level cache.
constexpr std::size_t largest_tile = 512;
constexpr std::size_t sums_stride = largest_tile + panel_width;

// Columns of a tile: whole words of levels, and tiles enough for all threads.
std::size_t tile_columns(std::size_t n_features, std::size_t width) {
  const std::size_t smallest = 64 * width, wanted = 3 * static_cast<std::size_t>(thread_count());
  std::size_t columns = largest_tile;
  while (columns > smallest && n_features < columns * wanted) columns /= 2;
  return columns;
}

class TileSums {
 public:
  TileSums(const CodeMatrix& codes, const float* weight, std::size_t tile)
      : codes_(codes),
        weight_(weight),
        tile_(tile),
        left_(make_buffer<float>(tile / panel_width * panel_stride)),
        right_(make_buffer<float>(tile / panel_width * panel_stride)),
        values_(make_buffer<float>(rows_at_once * tile)),
        sums_(make_buffer<float>(tile * sums_stride)) {}

  void run(TilePair pair, float* out) {
    std::fill(sums_.get(), sums_.get() + tile_ * sums_stride, 0.0f);
    const bool one_side = pair.s == pair.t && weight_ == nullptr;
    for (std::size_t begin = 0; begin < codes_.n_rows; begin += run_rows) {
      const std::size_t count = std::min(run_rows, codes_.n_rows - begin);
      decode(pair.t, begin, count, nullptr, right_.get());
      if (!one_side) decode(pair.s, begin, count, weight_, left_.get());
      multiply(pair, count, one_side ? right_.get() : left_.get());
    }
    write(pair, out);
  }

 private:
  std::size_t n_features() const { return codes_.n_levels * codes_.width; }
  std::size_t columns(std::size_t tile) const { return std::min(tile_, n_features() - tile * tile_); }
  std::size_t panels(std::size_t tile) const { return (columns(tile) + panel_width - 1) / panel_width; }

  // A few rows at a time: one alone would touch a page of every panel for a single line.
  void decode(std::size_t tile, std::size_t begin, std::size_t count, const float* weight, float* to) {
    for (std::size_t k = 0; k < count; k += rows_at_once) {
      const std::size_t some = std::min(rows_at_once, count - k);
      for (std::size_t i = 0; i < some; ++i) decode_row(tile, begin + k + i, weight, values_.get() + i * tile_);
      for (std::size_t c = 0; c < panels(tile); ++c)
        for (std::size_t i = 0; i < some; ++i)
          std::memcpy(to + c * panel_stride + (k + i) * panel_width, values_.get() + i * tile_ + c * panel_width,
                      panel_width * sizeof(float));
    }
  }

  void decode_row(std::size_t tile, std::size_t row, const float* weight, float* values) const {
    const std::size_t n = columns(tile), first_word = tile * tile_ / codes_.width * codes_.bits / 64;
    const std::size_t row_words = words_per_row(codes_.n_levels, codes_.bits);
    const std::uint64_t* words = codes_.rows + row * row_words + first_word;
    // A piece of every row is too short a stream for the processor to see it coming.
    const char* ahead = reinterpret_cast<const char*>(words + rows_ahead * row_words);
    for (std::size_t i = 0; i < n / codes_.width * codes_.bits / 8; i += 64) __builtin_prefetch(ahead + i);
    ops().decode_f32(words, n / codes_.width, codes_.bits, codes_.book, codes_.width, values);
    if (weight != nullptr)
      for (std::size_t j = 0; j < n; ++j) values[j] *= weight[row];
    std::fill(values + n, values + panels(tile) * panel_width, 0.0f);
  }

  void multiply(TilePair pair, std::size_t count, const float* left) {
    PanelProduct product{};
    product.a_row = 1;
    product.a_step = panel_width;
    product.n_rows = panel_width;
    product.panel_stride = panel_stride;
    product.depth = count;
    product.out_stride = sums_stride;
    product.add = true;
    for (std::size_t c = 0; c < panels(pair.s); ++c) {
      // On the diagonal what lies below it is left out.
      const std::size_t first = pair.s == pair.t ? c : 0;
      product.a = left + c * panel_stride;
      product.panels = right_.get() + first * panel_stride;
      product.n_panels = panels(pair.t) - first;
      product.out = sums_.get() + c * panel_width * sums_stride + first * panel_width;
      ops().panel_product(product);
    }
  }

  void write(TilePair pair, float* out) const {
    const std::size_t f = n_features(), rows = columns(pair.s), width = columns(pair.t);
    float* corner = out + pair.s * tile_ * f + pair.t * tile_;
    float* mirrored = out + pair.t * tile_ * f + pair.s * tile_;
    for (std::size_t first = 0; first < rows; first += panel_width) {
      const std::size_t last = std::min(rows, first + panel_width);
      // On the diagonal the upper triangle counts: with weights the two differ in their last bits.
      const std::size_t start = pair.s == pair.t ? first : 0;
      for (std::size_t i = first; i < last; ++i)
        std::memcpy(corner + i * f + start, sums_.get() + i * sums_stride + start, (width - start) * sizeof(float));
      for (std::size_t j = start; j < width; ++j)
        for (std::size_t i = first; i < last; ++i)
          if (pair.s != pair.t || i < j) mirrored[j * f + i] = sums_[i * sums_stride + j];
    }
  }

  const CodeMatrix& codes_;
  const float* weight_;
  std::size_t tile_;
  Buffer<float> left_, right_, values_, sums_;
};

}  // namespace

void panel_gram(const CodeMatrix& codes, const float* weight, float* out) {
  const std::size_t n_features = codes.n_levels * codes.width, tile = tile_columns(n_features, codes.width);
  const auto pairs = upper_pairs((n_features + tile - 1) / tile);
  std::atomic<std::size_t> next{0};
  parallel_for(pairs.size(), 1, [&](std::size_t, std::size_t) {
    TileSums sums(codes, weight, tile);
    for (std::size_t i = next++; i < pairs.size(); i = next++) sums.run(pairs[i], out);
  });
}

}  // namespace lowtide
