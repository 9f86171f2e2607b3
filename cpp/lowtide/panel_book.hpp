// Codebooks as the products of decoded panels take them, and the ops that look levels up and multiply: FloatPanels for
// any codebook, PairPanels for two whole numbers in the place of a float.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "lowtide/code_products.hpp"
#include "lowtide/layout.hpp"
#include "lowtide/ops.hpp"

namespace lowtide {

// A codebook that is whole numbers times a step, of at most kPairMost: value = step * number to the roundings of float32.
struct WholeBook {
  PairBook numbers{};
  double step = 0.0;

  // Steps are sought that the largest value has few of, up to 255, as evenly spaced levels have; or kPairMost, as
  // lowtide places its own codebooks.
  static std::optional<WholeBook> of(const CodeMatrix& codes) {
    const std::size_t n = codes.width << codes.bits;
    double largest = 0.0;
    for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(static_cast<double>(codes.book[i])));
    if (!(largest > 0.0)) return std::nullopt;
    for (int count = 1; count <= 256; ++count) {
      const double step = largest / (count == 256 ? static_cast<double>(kPairMost) : count);
      if (std::all_of(codes.book, codes.book + n, [&](float value) { return is_whole(value / step); }))
        return WholeBook(codes, step);
    }
    return std::nullopt;
  }

 private:
  WholeBook(const CodeMatrix& codes, double with_step) : numbers{{}, codes.width}, step(with_step) {
    for (std::size_t level = 0; level < std::size_t{1} << codes.bits; ++level)
      for (std::size_t p = 0; p < 2; ++p)
        numbers.value[p][level] =
            static_cast<std::int16_t>(std::lround(codes.book[level * codes.width + p % codes.width] / step));
  }

  // Off by two roundings of the value and two of the largest, at most.
  static bool is_whole(double number) {
    return std::abs(number - std::nearbyint(number)) <= 0x1p-22 * std::abs(number);
  }
};

class FloatPanels {
 public:
  using Element = float;
  static constexpr std::size_t terms = 1;  // that an element holds

  explicit FloatPanels(const CodeMatrix& codes) : codes_(codes), book_{{}, codes.width} {
    for (std::size_t level = 0; level < std::size_t{1} << codes.bits; ++level)
      for (std::size_t p = 0; p < codes.width; ++p) book_.value[p][level] = codes.book[level * codes.width + p];
  }

  // What a product of values of 1 is worth, per side.
  double step() const { return 1.0; }

  // One row of n levels.
  void line(const std::uint64_t* words, std::size_t n, std::uint8_t*, float* to) const {
    ops().decode_f32(words, n, codes_.bits, codes_.book, codes_.width, to);
  }
  void columns(const std::uint8_t* levels, std::size_t stride, std::size_t n, float* panel) const {
    op().columns(levels, stride, n, book_, panel);
  }
  void rows(const std::uint8_t* levels, std::size_t, std::size_t, std::size_t n, float* panels,
            std::size_t panel_stride) const {
    op().rows(levels, n, book_, panels, panel_stride);
  }
  static void multiply(const PanelProduct& product) { ops().panel_product(product); }

 private:
  const PanelFillOp& op() const { return codes_.bits <= 4 ? ops().panel_fill : scalar::panel_fill; }

  const CodeMatrix& codes_;
  PanelBook book_;
};

class PairPanels {
 public:
  using Element = Pair;
  static constexpr std::size_t terms = 2;

  PairPanels(const CodeMatrix& codes, const WholeBook& book) : codes_(codes), book_(book) {}

  double step() const { return book_.step; }

  // `levels` has room for n of them, filled up to 16. A term past the last one is 0.
  void line(const std::uint64_t* words, std::size_t n, std::uint8_t* levels, Pair* to) const {
    const std::size_t filled = (n + 15) / 16 * 16;
    ops().unpack(words, n, codes_.bits, levels);
    std::fill(levels + n, levels + filled, std::uint8_t{0});
    op().line(levels, filled, book_.numbers, to);
    if (n * codes_.width % 2 == 1) to[n / 2].term[1] = 0;
  }
  void columns(const std::uint8_t* levels, std::size_t stride, std::size_t n, Pair* panel) const {
    op().columns(levels, stride, n, book_.numbers, panel);
  }
  // Two rows of n levels, `stride` apart; where there is one, the second counts as zeros.
  void rows(const std::uint8_t* levels, std::size_t stride, std::size_t n_rows, std::size_t n, Pair* panels,
            std::size_t panel_stride) const {
    op().rows(levels, n_rows == 2 ? levels + stride : levels, n, book_.numbers, panels, panel_stride);
    for (std::size_t j = 0; n_rows == 1 && j < n * codes_.width; ++j)
      panels[j / panel_width * panel_stride + j % panel_width].term[1] = 0;
  }
  static void multiply(const PairProduct& product) { ops().pair_product.multiply(product); }

 private:
  const PairOp& op() const { return codes_.bits <= 4 ? ops().pair_product : scalar::pair_product; }

  const CodeMatrix& codes_;
  const WholeBook& book_;
};

}  // namespace lowtide
