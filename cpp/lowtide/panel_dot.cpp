#include "lowtide/panel_dot.hpp"

#include <algorithm>
#include <atomic>

#include "lowtide/buffer.hpp"
#include "lowtide/cancel.hpp"
#include "lowtide/layout.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/panel_book.hpp"
#include "lowtide/parallel.hpp"
#include "lowtide/tile_pairs.hpp"

namespace lowtide {
namespace {

// Elements of a run: a column each, or two; whole words of levels for either width of a codebook.
constexpr std::size_t run_depth = 256;
static_assert(run_depth <= kPairDepth);
// Rows of a are kept decoded for all of b; a multiple of the tiles of every instruction set. A line more than a row
// needs, since at a power of two they would share a few cache sets.
constexpr std::size_t largest_strip = 504, smallest_strip = 60, strip_step = 12, row_stride = run_depth + 16;
// Panels of rows of b that are decoded together and multiplied while they are in the cache.
constexpr std::size_t group_panels = 3, group_rows = group_panels * panel_width;
constexpr std::size_t block_rows = 40 * group_rows;

// Levels are filled up to a whole panel before they are looked up, with one or two values each.
constexpr std::size_t panel_stride = (run_depth + 2 * panel_width) * panel_width;

std::size_t n_columns(const CodeMatrix& codes) { return codes.n_levels * codes.width; }

bool is_same(const CodeMatrix& a, const CodeMatrix& b) {
  return a.rows == b.rows && a.n_rows == b.n_rows && a.bits == b.bits && a.width == b.width &&
         std::equal(a.book, a.book + (a.width << a.bits), b.book);
}

template <class Panels>
class StripProduct {
 public:
  using Element = typename Panels::Element;
  static constexpr std::size_t run_columns = run_depth * Panels::terms;

  StripProduct(const CodeMatrix& a, const Panels& a_panels, const CodeMatrix& b, const Panels& b_panels,
               const float* weight, std::size_t strip)
      : a_(a),
        b_(b),
        a_panels_(a_panels),
        b_panels_(b_panels),
        weight_(weight),
        strip_(strip),
        levels_(make_buffer<std::uint8_t>(panel_width * run_columns)),
        left_(make_buffer<Element>(strip * row_stride)),
        panels_(make_buffer<Element>(group_panels * panel_stride)),
        sums_(make_buffer<float>(strip * (std::min(block_rows, b.n_rows) + group_rows))) {}

  // Rows of a strip by all rows of b, or with `mirrored` those that are not left of the diagonal.
  void run(std::size_t strip, bool mirrored, float* out) {
    const std::size_t top = strip * strip_, n = std::min(strip_, a_.n_rows - top);
    mirrored_ = mirrored;
    for (std::size_t j = mirrored ? top : 0; j < b_.n_rows; j += block_rows)
      run_block(top, n, j, std::min(b_.n_rows, j + block_rows), out);
  }

 private:
  // Sums are kept in the order in which they are added to, [group][row of the strip][row of the group], until all runs
  // have been: in the result a row of a group is a few lines far from the next, which no prefetch sees coming.
  void run_block(std::size_t top, std::size_t n, std::size_t begin, std::size_t end, float* out) {
    for (std::size_t first = 0; first < n_columns(a_); first += run_columns) {
      const std::size_t count = std::min(run_columns, n_columns(a_) - first);
      decode_left(top, n, first, count);
      for (std::size_t j = begin; j < end; j += group_rows) {
        poll();
        const std::size_t rows = std::min(group_rows, end - j);
        decode_right(j, rows, first, count);
        const std::size_t needed = mirrored_ ? std::min(n, j + rows - top) : n;
        multiply(needed, rows, count, first != 0, sums_.get() + (j - begin) * strip_);
      }
    }
    const double unit = a_panels_.step() * b_panels_.step();
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = begin; j < end; j += group_rows) {
        if (mirrored_ && j + group_rows <= top + i) continue;
        const float* sums = sums_.get() + (j - begin) * strip_ + i * group_rows;
        std::transform(sums, sums + std::min(group_rows, end - j), out + (top + i) * b_.n_rows + j,
                       [unit](float sum) { return static_cast<float>(unit * static_cast<double>(sum)); });
      }
  }

  void decode_left(std::size_t top, std::size_t n, std::size_t first, std::size_t count) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t* words = a_.rows + (top + i) * words_per_row(a_.n_levels, a_.bits);
      Element* row = left_.get() + i * row_stride;
      a_panels_.line(words + first / a_.width * a_.bits / 64, count / a_.width, levels_.get(), row);
      if constexpr (Panels::terms == 1)
        if (weight_ != nullptr)
          for (std::size_t k = 0; k < count; ++k) row[k] *= weight_[first + k];
    }
  }

  // Rows past the last one repeat it; so do levels past the last one, whose values are not read.
  void decode_right(std::size_t j, std::size_t rows, std::size_t first, std::size_t count) {
    const std::size_t n = count / b_.width, filled = (n + panel_width - 1) / panel_width * panel_width;
    const std::size_t row_words = words_per_row(b_.n_levels, b_.bits), skipped = first / b_.width * b_.bits / 64;
    for (std::size_t c = 0; c * panel_width < rows; ++c) {
      for (std::size_t l = 0; l < panel_width; ++l) {
        std::uint8_t* levels = levels_.get() + l * run_columns;
        const std::size_t row = j + std::min(c * panel_width + l, rows - 1);
        const std::uint64_t* words = b_.rows + row * row_words + skipped;
        // A piece of every row is too short a stream for the processor to see it coming.
        const char* ahead = reinterpret_cast<const char*>(words + panel_width * row_words);
        for (std::size_t i = 0; i < n * b_.bits / 8; i += 64) __builtin_prefetch(ahead + i);
        ops().unpack(words, n, b_.bits, levels);
        std::fill(levels + n, levels + filled, levels[n - 1]);
      }
      b_panels_.columns(levels_.get(), run_columns, filled, panels_.get() + c * panel_stride);
    }
  }

  void multiply(std::size_t n, std::size_t rows, std::size_t count, bool add, float* sums) {
    PanelProductOf<Element> product{};
    product.a = left_.get();
    product.a_row = row_stride;
    product.a_step = 1;
    product.n_rows = n;
    product.panels = panels_.get();
    product.panel_stride = panel_stride;
    product.n_panels = (rows + panel_width - 1) / panel_width;
    product.depth = (count + Panels::terms - 1) / Panels::terms;
    product.out = sums;
    product.out_stride = group_rows;
    product.add = add;
    Panels::multiply(product);
  }

  const CodeMatrix &a_, &b_;
  const Panels &a_panels_, &b_panels_;
  const float* weight_;
  std::size_t strip_;
  bool mirrored_ = false;
  Buffer<std::uint8_t> levels_;
  Buffer<Element> left_, panels_;
  Buffer<float> sums_;
};

template <class Panels>
void multiply_strips(const CodeMatrix& a, const Panels& a_panels, const CodeMatrix& b, const Panels& b_panels,
                     const float* weight, float* out) {
  // As many strips for each thread, so that none waits for another's last one; four at least, as long as they are not
  // too short for rows of b to be decoded for them.
  const std::size_t n_threads = static_cast<std::size_t>(thread_count());
  std::size_t each = (a.n_rows + largest_strip * n_threads - 1) / (largest_strip * n_threads);
  if (each < 4) each = std::clamp<std::size_t>(a.n_rows / (smallest_strip * n_threads), 1, 4);
  const std::size_t wanted = (a.n_rows + each * n_threads - 1) / (each * n_threads);
  const std::size_t strip = std::max(smallest_strip, (wanted + strip_step - 1) / strip_step * strip_step);
  const std::size_t n_strips = (a.n_rows + strip - 1) / strip;
  const bool mirrored = weight == nullptr && is_same(a, b);
  std::atomic<std::size_t> next{0};
  parallel_for(n_strips, 1, [&](std::size_t, std::size_t) {
    StripProduct<Panels> product(a, a_panels, b, b_panels, weight, strip);
    for (std::size_t s = next++; s < n_strips; s = next++) product.run(s, mirrored, out);
  });
  if (!mirrored) return;
  const std::size_t n = a.n_rows;
  parallel_for(n_strips, 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t s = first; s < last; ++s)
      polled_blocks(s * strip, n, block_rows, [&](std::size_t begin, std::size_t end) {
        mirror_tile(n, s * strip, std::min(n, (s + 1) * strip), begin, end, out);
      });
  });
}

}  // namespace

void panel_dot(const CodeMatrix& a, const CodeMatrix& b, const float* weight, bool pairs, float* out) {
  if (pairs && weight == nullptr) {
    const auto left = WholeBook::of(a), right = WholeBook::of(b);
    if (left && right) return multiply_strips(a, PairPanels(a, *left), b, PairPanels(b, *right), nullptr, out);
  }
  multiply_strips(a, FloatPanels(a), b, FloatPanels(b), weight, out);
}

}  // namespace lowtide
