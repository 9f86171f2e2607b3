#include "lowtide/panel_gram.hpp"

#include <algorithm>
#include <atomic>

#include "lowtide/buffer.hpp"
#include "lowtide/cancel.hpp"
#include "lowtide/feature_tiles.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/panel_book.hpp"
#include "lowtide/parallel.hpp"

namespace lowtide {
namespace {

static_assert(FeatureTiles::panel == panel_width);

// Elements of a run: a row each, or two.
constexpr std::size_t run_depth = 128;
static_assert(run_depth <= kPairDepth);
// Between the panels of a run: a line more than they need, since at a power of two they would share a few cache sets.
constexpr std::size_t panel_stride = (run_depth + 1) * panel_width;
// A tile of sums and the panels of its two sides share the second-level cache.
constexpr std::size_t largest_tile = 512;
constexpr std::size_t sums_stride = largest_tile + panel_width;

template <class Panels>
class TileSums {
 public:
  using Element = typename Panels::Element;

  TileSums(const CodeMatrix& codes, const Panels& panels, const float* weight, const FeatureTiles& tiles)
      : codes_(codes),
        weight_(weight),
        tiles_(tiles),
        panels_(panels),
        levels_(make_buffer<std::uint8_t>(Panels::terms * tiles.size())),
        left_(make_buffer<Element>(tiles.size() / panel_width * panel_stride)),
        right_(make_buffer<Element>(tiles.size() / panel_width * panel_stride)),
        sums_(make_buffer<float>(tiles.size() * sums_stride)) {}

  void run(TilePair pair, float* out) {
    std::fill(sums_.get(), sums_.get() + tiles_.size() * sums_stride, 0.0f);
    const bool one_side = pair.s == pair.t && weight_ == nullptr;
    for (std::size_t begin = 0; begin < codes_.n_rows; begin += run_depth * Panels::terms) {
      poll();
      const std::size_t count = std::min(run_depth * Panels::terms, codes_.n_rows - begin);
      decode(pair.t, begin, count, nullptr, right_.get());
      if (!one_side) decode(pair.s, begin, count, weight_, left_.get());
      multiply(pair, (count + Panels::terms - 1) / Panels::terms, one_side ? right_.get() : left_.get());
    }
    tiles_.write(pair, sums_.get(), sums_stride, panels_.step() * panels_.step(), out);
  }

 private:
  // Levels past the last one repeat it: their sums are not read.
  void decode(std::size_t tile, std::size_t begin, std::size_t count, const float* weight, Element* to) {
    const std::size_t n = tiles_.columns(tile) / codes_.width, n_panels = tiles_.panels(tile);
    const std::size_t filled = n_panels * panel_width / codes_.width;
    for (std::size_t k = 0; k < count; k += Panels::terms, to += panel_width) {
      const std::size_t n_rows = std::min(Panels::terms, count - k);
      for (std::size_t t = 0; t < n_rows; ++t) {
        std::uint8_t* levels = levels_.get() + t * tiles_.size();
        ops().unpack(tiles_.words(tile, begin + k + t), n, codes_.bits, levels);
        std::fill(levels + n, levels + filled, levels[n - 1]);
      }
      panels_.rows(levels_.get(), tiles_.size(), n_rows, filled, to, panel_stride);
      if constexpr (Panels::terms == 1) {
        if (weight == nullptr) continue;
        for (std::size_t c = 0; c < n_panels; ++c)
          for (std::size_t l = 0; l < panel_width; ++l) to[c * panel_stride + l] *= weight[begin + k];
      }
    }
  }

  void multiply(TilePair pair, std::size_t depth, const Element* left) {
    PanelProductOf<Element> product{};
    product.a_row = 1;
    product.a_step = panel_width;
    product.n_rows = panel_width;
    product.panel_stride = panel_stride;
    product.depth = depth;
    product.out_stride = sums_stride;
    product.add = true;
    for (std::size_t c = 0; c < tiles_.panels(pair.s); ++c) {
      // On the diagonal what lies below it is left out.
      const std::size_t first = pair.s == pair.t ? c : 0;
      product.a = left + c * panel_stride;
      product.panels = right_.get() + first * panel_stride;
      product.n_panels = tiles_.panels(pair.t) - first;
      product.out = sums_.get() + c * panel_width * sums_stride + first * panel_width;
      Panels::multiply(product);
    }
  }

  const CodeMatrix& codes_;
  const float* weight_;
  const FeatureTiles& tiles_;
  const Panels& panels_;
  Buffer<std::uint8_t> levels_;
  Buffer<Element> left_, right_;
  Buffer<float> sums_;
};

template <class Panels>
void sum_tiles(const CodeMatrix& codes, const Panels& panels, const float* weight, float* out) {
  const FeatureTiles tiles(codes, largest_tile);
  const auto pairs = upper_pairs(tiles.count());
  std::atomic<std::size_t> next{0};
  parallel_for(pairs.size(), 1, [&](std::size_t, std::size_t) {
    TileSums<Panels> sums(codes, panels, weight, tiles);
    for (std::size_t i = next++; i < pairs.size(); i = next++) sums.run(pairs[i], out);
  });
}

}  // namespace

void panel_gram(const CodeMatrix& codes, const float* weight, bool pairs, float* out) {
  if (pairs && weight == nullptr)
    if (const auto book = WholeBook::of(codes)) return sum_tiles(codes, PairPanels(codes, *book), nullptr, out);
  sum_tiles(codes, FloatPanels(codes), weight, out);
}

}  // namespace lowtide
