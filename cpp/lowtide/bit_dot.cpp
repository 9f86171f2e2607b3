#include "lowtide/bit_dot.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "lowtide/buffer.hpp"
#include "lowtide/cancel.hpp"
#include "lowtide/layout.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/parallel.hpp"
#include "lowtide/tile_pairs.hpp"

namespace lowtide {
namespace {

// Levels of a run: whole words of packed levels for either width of a codebook.
constexpr std::size_t run_columns = 64 * kBitRun;
// Rows of b whose tables and sums are in the second-level cache together.
constexpr std::size_t group_rows = 16;
// 1-bit rows are prepared in strips of so many bytes, panels of kDotRows: enough for the tables of b, which are made anew
// for every strip, to be a small part of the work.
constexpr std::size_t strip_bytes = std::size_t{1} << 21, most_panels = 16;
constexpr std::size_t items_a_thread = 4;

// The values of a codebook as low + step * weight, weights integers below 2^22.
struct WeightBook {
  WeightBook(const float* book, std::size_t n_values) : weights(n_values) {
    const auto [least, largest] = std::minmax_element(book, book + n_values);
    low = *least;
    const double span = static_cast<double>(*largest) - low;
    // The least power of two with span / step <= 2^22 - 1.
    int exponent = 0;
    std::frexp(span / ((1 << kWeightBits) - 1), &exponent);
    step = span > 0 ? std::ldexp(1.0, exponent) : 1.0;
    if (span > 0 && span <= step / 2 * ((1 << kWeightBits) - 1)) step /= 2;
    for (std::size_t i = 0; i < n_values; ++i)
      weights[i] = static_cast<float>(std::nearbyint((static_cast<double>(book[i]) - low) / step));
  }

  double low, step;
  std::vector<float> weights;
};

// Strips of 1-bit rows by groups of rows of b.
class BitStrips {
 public:
  BitStrips(const CodeMatrix& a, const CodeMatrix& b, const WeightBook& book, std::size_t panels)
      : a_(a),
        b_(b),
        book_(book),
        op_(ops().bit_dot),
        row_words_(words_per_row(a.n_levels, 1)),
        panel_bytes_(op_.bits_bytes(kBitRun)),
        table_bytes_(op_.weights_bytes(kBitRun)),
        stride_(panels * kDotRows),
        bits_(make_buffer<std::uint8_t>((row_words_ + kBitRun - 1) / kBitRun * panels * panel_bytes_)),
        tables_(make_buffer<std::uint8_t>(group_rows * table_bytes_)),
        weights_(make_buffer<float>(run_columns)),
        sums_(make_buffer<double>(group_rows * stride_)),
        ones_(stride_) {}

  // Rows [top, top + n) of a by rows [begin, end) of b.
  void run(std::size_t top, std::size_t n, std::size_t begin, std::size_t end, const DotOut& to) {
    if (top != top_ || n != n_) prepare(top, n);
    for (std::size_t j = begin; j < end; j += group_rows) {
      const std::size_t rows = std::min(group_rows, end - j);
      sum_group(j, rows);
      write_group(j, rows, to);
    }
  }

 private:
  void prepare(std::size_t top, std::size_t n) {
    top_ = top;
    n_ = n;
    std::uint8_t* panel = bits_.get();
    for (std::size_t first = 0; first < row_words_; first += kBitRun)
      for (std::size_t i = 0; i < n; i += kDotRows, panel += panel_bytes_)
        op_.prepare_bits(a_.rows + (top + i) * row_words_ + first, std::min(kDotRows, n - i), row_words_,
                         std::min(kBitRun, row_words_ - first), panel);
    for (std::size_t i = 0; i < n; ++i) ones_[i] = ops().code_ones(a_.rows + (top + i) * row_words_, row_words_);
  }

  void sum_group(std::size_t j, std::size_t rows) {
    std::fill(sums_.get(), sums_.get() + rows * stride_, 0.0);
    std::fill(totals_, totals_ + rows, 0.0);
    const std::uint8_t* panel = bits_.get();
    for (std::size_t first = 0; first < row_words_; first += kBitRun) {
      poll();
      const std::size_t n_words = std::min(kBitRun, row_words_ - first);
      for (std::size_t r = 0; r < rows; ++r) make_tables(j + r, first, n_words, r);
      for (std::size_t i = 0; i < n_; i += kDotRows, panel += panel_bytes_)
        for (std::size_t r = 0; r < rows; ++r)
          op_.multiply(panel, tables_.get() + r * table_bytes_, n_words, std::min(kDotRows, n_ - i),
                       sums_.get() + r * stride_ + i);
    }
  }

  void make_tables(std::size_t row, std::size_t first_word, std::size_t n_words, std::size_t r) {
    const std::size_t first = 64 * first_word, count = std::min(64 * n_words, a_.n_levels - first);
    const std::uint64_t* words = b_.rows + row * words_per_row(b_.n_levels, b_.bits);
    float* weights = weights_.get();
    ops().decode_f32(words + first / b_.width * b_.bits / 64, count / b_.width, b_.bits, book_.weights.data(), b_.width,
                     weights);
    std::fill(weights + count, weights + 64 * n_words, 0.0f);
    std::uint32_t total = 0;  // of integers, which may be added in any order, many at a time
    for (std::size_t k = 0; k < count; ++k) total += static_cast<std::uint32_t>(static_cast<std::int32_t>(weights[k]));
    totals_[r] += total;
    op_.prepare_weights(weights, n_words, tables_.get() + r * table_bytes_);
  }

  // With values zero and one of a bit: zero * (the sum of row j) + (one - zero) * (the sum where row i has ones).
  void write_group(std::size_t j, std::size_t rows, const DotOut& to) {
    const double zero = a_.book[0], gap = static_cast<double>(a_.book[1]) - zero;
    double base[group_rows];
    for (std::size_t r = 0; r < rows; ++r)
      base[r] = zero * (book_.low * static_cast<double>(a_.n_levels) + book_.step * totals_[r]);
    const auto value = [this, gap, &base](std::size_t i, std::size_t r) {
      return static_cast<float>(base[r] + gap * (book_.low * ones_[i] + book_.step * sums_[r * stride_ + i]));
    };
    float* out = to.out + top_ * to.row + j * to.column;
    if (to.row == 1) {
      for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t i = 0; i < n_; ++i) out[r * to.column + i] = value(i, r);
    } else {
      for (std::size_t i = 0; i < n_; ++i)
        for (std::size_t r = 0; r < rows; ++r) out[i * to.row + r * to.column] = value(i, r);
    }
  }

  const CodeMatrix &a_, &b_;
  const WeightBook& book_;
  const BitDotOp& op_;
  std::size_t row_words_, panel_bytes_, table_bytes_, stride_;
  std::size_t top_ = 0, n_ = 0;
  Buffer<std::uint8_t> bits_, tables_;
  Buffer<float> weights_;
  Buffer<double> sums_;
  std::vector<double> ones_;
  double totals_[group_rows];
};

}  // namespace

bool weights_suffice(std::size_t n_columns, const float* book, std::size_t n_values) {
  const WeightBook rounded(book, n_values);
  const double tolerance = static_cast<double>(n_columns) * 0x1p-24;
  for (std::size_t i = 0; i < n_values; ++i) {
    const double value = book[i], kept = rounded.low + rounded.step * static_cast<double>(rounded.weights[i]);
    if (std::abs(kept - value) > tolerance * std::abs(value)) return false;
  }
  return true;
}

void bit_dot(const CodeMatrix& a, const CodeMatrix& b, const DotOut& to) {
  if (a.n_rows == 0 || b.n_rows == 0) return;
  const WeightBook book(b.book, b.width << b.bits);
  const std::size_t n_panels = (a.n_rows + kDotRows - 1) / kDotRows;
  const std::size_t n_runs = (words_per_row(a.n_levels, 1) + kBitRun - 1) / kBitRun;
  const std::size_t largest =
      std::clamp<std::size_t>(strip_bytes / (n_runs * ops().bit_dot.bits_bytes(kBitRun)), 1, most_panels);
  // Strips of about equal length; then pieces of b, so that all threads end at about the same time.
  const std::size_t n_strips = (n_panels + largest - 1) / largest, panels = (n_panels + n_strips - 1) / n_strips;
  const std::size_t n_groups = (b.n_rows + group_rows - 1) / group_rows;
  const std::size_t wanted = items_a_thread * static_cast<std::size_t>(thread_count());
  const std::size_t n_pieces = std::min(n_groups, (wanted + n_strips - 1) / n_strips);
  const auto items = all_pairs(n_strips, n_pieces);
  std::atomic<std::size_t> next{0};
  parallel_for(items.size(), 1, [&](std::size_t, std::size_t) {
    BitStrips strips(a, b, book, panels);
    for (std::size_t i = next++; i < items.size(); i = next++) {
      const std::size_t top = items[i].s * panels * kDotRows;
      const std::size_t begin = n_groups * items[i].t / n_pieces, end = n_groups * (items[i].t + 1) / n_pieces;
      if (top < a.n_rows)
        strips.run(top, std::min(panels * kDotRows, a.n_rows - top), begin * group_rows,
                   std::min(end * group_rows, b.n_rows), to);
    }
  });
}

}  // namespace lowtide
