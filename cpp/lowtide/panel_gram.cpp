#include "lowtide/panel_gram.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "lowtide/buffer.hpp"
#include "lowtide/feature_tiles.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/parallel.hpp"

namespace lowtide {
namespace {

static_assert(FeatureTiles::panel == panel_width);

constexpr std::size_t run_rows = 128, rows_at_once = 8;
// Between the panels of a run: a line more than they need, since at a power of two they would share a few cache sets.
constexpr std::size_t panel_stride = (run_rows + 1) * panel_width;
// A tile of sums and the panels of its two sides share the second-level cache.
constexpr std::size_t largest_tile = 512;
constexpr std::size_t sums_stride = largest_tile + panel_width;

class TileSums {
 public:
  TileSums(const CodeMatrix& codes, const float* weight, const FeatureTiles& tiles)
      : codes_(codes),
        weight_(weight),
        tiles_(tiles),
        left_(make_buffer<float>(tiles.size() / panel_width * panel_stride)),
        right_(make_buffer<float>(tiles.size() / panel_width * panel_stride)),
        values_(make_buffer<float>(rows_at_once * tiles.size())),
        sums_(make_buffer<float>(tiles.size() * sums_stride)) {}

  void run(TilePair pair, float* out) {
    std::fill(sums_.get(), sums_.get() + tiles_.size() * sums_stride, 0.0f);
    const bool one_side = pair.s == pair.t && weight_ == nullptr;
    for (std::size_t begin = 0; begin < codes_.n_rows; begin += run_rows) {
      const std::size_t count = std::min(run_rows, codes_.n_rows - begin);
      decode(pair.t, begin, count, nullptr, right_.get());
      if (!one_side) decode(pair.s, begin, count, weight_, left_.get());
      multiply(pair, count, one_side ? right_.get() : left_.get());
    }
    tiles_.write(pair, sums_.get(), sums_stride, 1.0, out);
  }

 private:
  // A few rows at a time: one alone would touch a page of every panel for a single line.
  void decode(std::size_t tile, std::size_t begin, std::size_t count, const float* weight, float* to) {
    for (std::size_t k = 0; k < count; k += rows_at_once) {
      const std::size_t some = std::min(rows_at_once, count - k);
      for (std::size_t i = 0; i < some; ++i) decode_row(tile, begin + k + i, weight, values_.get() + i * tiles_.size());
      for (std::size_t c = 0; c < tiles_.panels(tile); ++c)
        for (std::size_t i = 0; i < some; ++i)
          std::memcpy(to + c * panel_stride + (k + i) * panel_width,
                      values_.get() + i * tiles_.size() + c * panel_width, panel_width * sizeof(float));
    }
  }

  void decode_row(std::size_t tile, std::size_t row, const float* weight, float* values) const {
    const std::size_t n = tiles_.columns(tile);
    ops().decode_f32(tiles_.words(tile, row), n / codes_.width, codes_.bits, codes_.book, codes_.width, values);
    if (weight != nullptr)
      for (std::size_t j = 0; j < n; ++j) values[j] *= weight[row];
    std::fill(values + n, values + tiles_.panels(tile) * panel_width, 0.0f);
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
    for (std::size_t c = 0; c < tiles_.panels(pair.s); ++c) {
      // On the diagonal what lies below it is left out.
      const std::size_t first = pair.s == pair.t ? c : 0;
      product.a = left + c * panel_stride;
      product.panels = right_.get() + first * panel_stride;
      product.n_panels = tiles_.panels(pair.t) - first;
      product.out = sums_.get() + c * panel_width * sums_stride + first * panel_width;
      ops().panel_product(product);
    }
  }

  const CodeMatrix& codes_;
  const float* weight_;
  const FeatureTiles& tiles_;
  Buffer<float> left_, right_, values_, sums_;
};

}  // namespace

void panel_gram(const CodeMatrix& codes, const float* weight, float* out) {
  const FeatureTiles tiles(codes, largest_tile);
  const auto pairs = upper_pairs(tiles.count());
  std::atomic<std::size_t> next{0};
  parallel_for(pairs.size(), 1, [&](std::size_t, std::size_t) {
    TileSums sums(codes, weight, tiles);
    for (std::size_t i = next++; i < pairs.size(); i = next++) sums.run(pairs[i], out);
  });
}

}  // namespace lowtide
