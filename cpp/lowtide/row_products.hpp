// Products of rows with rows, tile by tile on all threads, from ops that sum panels of packed rows.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lowtide/buffer.hpp"
#include "lowtide/cancel.hpp"
#include "lowtide/ops/code_dot/code_dot.hpp"
#include "lowtide/parallel.hpp"
#include "lowtide/tile_pairs.hpp"

namespace lowtide {

struct PackedRowMatrix {
  const std::uint64_t* rows;
  std::size_t n_rows, row_words;
};

// A rectangle of products: rows [i, i + n_i) by rows [j, j + n_j), sums with rows kDotRows apart.
struct RowTile {
  std::size_t i, n_i, j, n_j;
  const std::int32_t* sums;
};

// All panels of a matrix, [run][panel], made at once where they are small: then no strip makes them again.
class AllPanels {
 public:
  static constexpr std::size_t most_bytes = std::size_t{1} << 26;

  // For as many strips of the other side.
  AllPanels(const DotOp& op, const PackedRowMatrix& rows, std::size_t n_strips)
      : run_(std::min(op.run_words, rows.row_words)),
        panel_bytes_(op.panel_bytes(run_)),
        n_panels_((rows.n_rows + kDotRows - 1) / kDotRows) {
    const std::size_t n_items = run_ == 0 ? 0 : (rows.row_words + run_ - 1) / run_ * n_panels_;
    if (n_strips == 1 || n_items * panel_bytes_ > most_bytes) return;
    panels_ = make_buffer<std::uint8_t>(n_items * panel_bytes_);
    // Rows of a panel by all its runs on one thread: neighbors in memory.
    parallel_for(n_panels_, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t p = begin; p < end; ++p)
        for (std::size_t first = 0; first < rows.row_words; first += run_) {
          poll();
          op.prepare(rows.rows + p * kDotRows * rows.row_words + first, std::min(kDotRows, rows.n_rows - p * kDotRows),
                     rows.row_words, std::min(run_, rows.row_words - first), at(p, first));
        }
    });
  }

  bool is_made() const { return panels_ != nullptr; }
  // A panel's words from `first` on; the panels after it follow.
  std::uint8_t* at(std::size_t panel, std::size_t first) const {
    return panels_.get() + (first / run_ * n_panels_ + panel) * panel_bytes_;
  }

 private:
  std::size_t run_, panel_bytes_, n_panels_;
  Buffer<std::uint8_t> panels_;
};

// Sums of a strip of left rows by a strip of right rows, a few panels each: a panel that is not there yet is made once
// for all of the other side's.
class RowStrips {
 public:
  static constexpr std::size_t most_panels = 4;

  RowStrips(const DotOp& op, const PackedRowMatrix& a, const PackedRowMatrix& b, const AllPanels& all_a,
            const AllPanels& all_b, std::size_t panels)
      : op_(op),
        a_(a),
        b_(b),
        all_a_(all_a),
        all_b_(all_b),
        panels_(panels),
        run_(std::min(op.run_words, a.row_words)),
        panel_bytes_(op.panel_bytes(run_)),
        left_(make_buffer<std::uint8_t>(all_a.is_made() ? 0 : panels * panel_bytes_)),
        right_(make_buffer<std::uint8_t>(all_b.is_made() ? 0 : panels * panel_bytes_)),
        sums_(make_buffer<std::int32_t>(panels * panels * kDotRows * kDotRows)) {}

  // With `mirrored` only what is not left of the diagonal is summed: both sides are the same rows. Calls write(tile).
  template <class Write>
  void run(TilePair pair, bool mirrored, const Write& write) {
    const std::size_t rows = panels_ * kDotRows;
    Side left{a_, all_a_, pair.s * rows, std::min(rows, a_.n_rows - pair.s * rows), left_.get()};
    Side right{b_, all_b_, pair.t * rows, std::min(rows, b_.n_rows - pair.t * rows), right_.get()};
    const bool diagonal = mirrored && pair.s == pair.t;
    std::fill(sums_.get(), sums_.get() + panels_ * panels_ * kDotRows * kDotRows, 0);
    for (std::size_t first = 0; first < a_.row_words; first += run_) {
      poll();
      const std::size_t n_words = std::min(run_, a_.row_words - first);
      prepare(left, first, n_words);
      if (!diagonal) prepare(right, first, n_words);
      multiply(left, diagonal ? left : right, n_words, diagonal);
    }
    for (std::size_t q = 0; q * kDotRows < right.n; ++q)
      for (std::size_t p = 0; p * kDotRows < left.n && (!diagonal || p <= q); ++p) {
        poll();
        write(
            RowTile{left.first + p * kDotRows, left.count(p), right.first + q * kDotRows, right.count(q), sums(p, q)});
      }
  }

 private:
  struct Side {
    const PackedRowMatrix& matrix;
    const AllPanels& all;
    std::size_t first, n;
    std::uint8_t* panels;
    std::size_t count(std::size_t panel) const { return std::min(kDotRows, n - panel * kDotRows); }
  };

  void prepare(Side& side, std::size_t first, std::size_t n_words) {
    if (side.all.is_made()) {
      side.panels = side.all.at(side.first / kDotRows, first);
      return;
    }
    for (std::size_t p = 0; p * kDotRows < side.n; ++p)
      op_.prepare(side.matrix.rows + (side.first + p * kDotRows) * side.matrix.row_words + first, side.count(p),
                  side.matrix.row_words, n_words, side.panels + p * panel_bytes_);
  }

  void multiply(const Side& left, const Side& right, std::size_t n_words, bool diagonal) {
    const std::size_t most = op_.left_panels;
    for (std::size_t q = 0; q * kDotRows < right.n; ++q) {
      const std::size_t end = diagonal ? std::min(left.n, (q + 1) * kDotRows) : left.n;
      for (std::size_t p = 0; p * kDotRows < end; p += most)
        op_.multiply({left.panels + p * panel_bytes_, right.panels + q * panel_bytes_, n_words,
                      std::min(most * kDotRows, end - p * kDotRows), right.count(q), diagonal && most == 1 && p == q,
                      sums(p, q), panel_bytes_});
    }
  }

  std::int32_t* sums(std::size_t p, std::size_t q) const {
    return sums_.get() + (q * panels_ + p) * kDotRows * kDotRows;
  }

  const DotOp& op_;
  const PackedRowMatrix &a_, &b_;
  const AllPanels &all_a_, &all_b_;
  std::size_t panels_, run_, panel_bytes_;
  Buffer<std::uint8_t> left_, right_;
  Buffer<std::int32_t> sums_;
};

// Calls write(tile) for tiles that cover a.n_rows x b.n_rows, or with `mirrored`, where both are the same rows, its
// upper triangle: what a tile has left of the diagonal is anything. Tiles are written on several threads at once.
template <class Write>
void row_products(const DotOp& op, const PackedRowMatrix& a, const PackedRowMatrix& b, bool mirrored,
                  const Write& write) {
  if (a.n_rows == 0 || b.n_rows == 0) return;
  const auto strips = [](std::size_t n, std::size_t panels) {
    return (n + panels * kDotRows - 1) / (panels * kDotRows);
  };
  // Strips enough for all threads to end at about the same time.
  const std::size_t wanted = 16 * static_cast<std::size_t>(thread_count());
  std::size_t panels = RowStrips::most_panels;
  while (panels > 1 && strips(a.n_rows, panels) * strips(b.n_rows, panels) / (mirrored ? 2 : 1) < wanted) panels /= 2;
  const auto pairs =
      mirrored ? upper_pairs(strips(a.n_rows, panels)) : all_pairs(strips(a.n_rows, panels), strips(b.n_rows, panels));
  const AllPanels all_a(op, a, strips(b.n_rows, panels));
  const AllPanels other(op, b, mirrored ? 1 : strips(a.n_rows, panels));
  const AllPanels& all_b = mirrored ? all_a : other;
  std::atomic<std::size_t> next{0};
  parallel_for(pairs.size(), 1, [&](std::size_t, std::size_t) {
    RowStrips sums(op, a, b, all_a, all_b, panels);
    for (std::size_t i = next++; i < pairs.size(); i = next++) sums.run(pairs[i], mirrored, write);
  });
}

}  // namespace lowtide
