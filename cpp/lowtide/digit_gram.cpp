#include "lowtide/digit_gram.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "lowtide/buffer.hpp"
#include "lowtide/cancel.hpp"
#include "lowtide/feature_tiles.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/parallel.hpp"

namespace lowtide {
namespace {

static_assert(FeatureTiles::panel == kDigitColumns);

// A tile of sums, the panels of its two sides and their positions share the second-level cache.
constexpr std::size_t largest_tile = 256;

// The most that digits 127, 127 and 127 are: with it no value needs a fourth.
constexpr double largest_fixed = 127.0 * (65536 + 256 + 1);

std::size_t n_values(const CodeMatrix& codes) { return codes.width << codes.bits; }

// The codebook as digits, and what a sum of 1 is worth.
struct Digits {
  DigitTables tables{};
  double unit = 0.0;

  explicit Digits(const CodeMatrix& codes) {
    const std::size_t n = n_values(codes);
    double largest = 0.0;
    for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(static_cast<double>(codes.book[i])));
    if (largest == 0.0) return;
    const double step = largest / largest_fixed;
    for (std::size_t i = 0; i < n; ++i) write(std::lround(static_cast<double>(codes.book[i]) / step), i);
    unit = step * step * 0x1p32;
  }

  // What the op makes of the product of two values.
  double product(std::size_t i, std::size_t j) const {
    const auto& [a, b, c] = tables.digit;
    const double low = a[i] * c[j] + c[i] * a[j] + b[i] * b[j];
    return unit * (a[i] * a[j] + (a[i] * b[j] + b[i] * a[j]) * 0x1p-8 + low * 0x1p-16);
  }

 private:
  void write(long value, std::size_t position) {
    for (std::size_t d = kDigits; d-- > 0;) {
      const auto digit = static_cast<std::int8_t>(value & 0xff);
      tables.digit[d][position] = digit;
      value = (value - digit) / 256;
    }
  }
};

class TileSums {
 public:
  TileSums(const CodeMatrix& codes, const Digits& digits, const FeatureTiles& tiles)
      : codes_(codes),
        digits_(digits),
        tiles_(tiles),
        stride_(tiles.size() + FeatureTiles::panel),
        levels_(make_buffer<std::uint8_t>(tiles.size())),
        positions_(make_buffer<std::uint8_t>(kDigitRows * tiles.size())),
        left_(make_buffer<std::int8_t>(tiles.size() / kDigitColumns * kDigitPanelBytes)),
        right_(make_buffer<std::int8_t>(tiles.size() / kDigitColumns * kDigitPanelBytes)),
        sums_(make_buffer<float>(tiles.size() * stride_)) {}

  void run(TilePair pair, float* out) {
    std::fill(sums_.get(), sums_.get() + tiles_.size() * stride_, 0.0f);
    const bool one_tile = pair.s == pair.t;
    for (std::size_t begin = 0; begin < codes_.n_rows; begin += kDigitRows) {
      poll();
      const std::size_t count = std::min(kDigitRows, codes_.n_rows - begin);
      prepare(pair.t, begin, count, one_tile ? left_.get() : nullptr, right_.get());
      if (!one_tile) prepare(pair.s, begin, count, left_.get(), nullptr);
      ops().digit_product.multiply({left_.get(), right_.get(), count, tiles_.panels(pair.s), tiles_.panels(pair.t),
                                    one_tile, sums_.get(), stride_});
    }
    tiles_.write(pair, sums_.get(), stride_, digits_.unit, out);
  }

 private:
  void prepare(std::size_t tile, std::size_t begin, std::size_t count, std::int8_t* left, std::int8_t* right) {
    const std::size_t n = tiles_.columns(tile), filled = (n + kDigitBlock - 1) / kDigitBlock * kDigitBlock;
    for (std::size_t i = 0; i < count; ++i) {
      std::uint8_t* row = positions_.get() + i * filled;
      std::uint8_t* levels = codes_.width == 1 ? row : levels_.get();
      ops().unpack(tiles_.words(tile, begin + i), n / codes_.width, codes_.bits, levels);
      if (codes_.width == 2) write_pairs(levels, n / 2, row);
      std::memset(row + n, kNoPosition, filled - n);
    }
    ops().digit_product.prepare({positions_.get(), count, filled, &digits_.tables, left, right});
  }

  static void write_pairs(const std::uint8_t* levels, std::size_t n, std::uint8_t* __restrict positions) {
    for (std::size_t j = 0; j < n; ++j) {
      const auto first = static_cast<std::uint8_t>(2 * levels[j]);
      positions[2 * j] = first;
      positions[2 * j + 1] = static_cast<std::uint8_t>(first + 1);
    }
  }

  const CodeMatrix& codes_;
  const Digits& digits_;
  const FeatureTiles& tiles_;
  std::size_t stride_;
  Buffer<std::uint8_t> levels_, positions_;
  Buffer<std::int8_t> left_, right_;
  Buffer<float> sums_;
};

}  // namespace

bool digits_suffice(const CodeMatrix& codes) {
  if (codes.bits > 4) return false;
  const std::size_t n = n_values(codes);
  if (!std::all_of(codes.book, codes.book + n, [](float value) { return std::isfinite(value); })) return false;
  const Digits digits(codes);
  // The sum of a run is rounded twice, that of the runs once each, the result once.
  const auto rows = static_cast<double>(codes.n_rows), own_roundings = 4.0 + rows / kDigitRows;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const double exact = static_cast<double>(codes.book[i]) * static_cast<double>(codes.book[j]);
      if (std::abs(digits.product(i, j) - exact) > 0x1p-24 * (rows - own_roundings) * std::abs(exact)) return false;
    }
  return true;
}

void digit_gram(const CodeMatrix& codes, float* out) {
  const FeatureTiles tiles(codes, largest_tile);
  const auto pairs = upper_pairs(tiles.count());
  const Digits digits(codes);
  std::atomic<std::size_t> next{0};
  parallel_for(pairs.size(), 1, [&](std::size_t, std::size_t) {
    TileSums sums(codes, digits, tiles);
    for (std::size_t i = next++; i < pairs.size(); i = next++) sums.run(pairs[i], out);
  });
}

}  // namespace lowtide
