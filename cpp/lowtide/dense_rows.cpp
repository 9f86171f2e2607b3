#include "lowtide/dense_rows.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <stdexcept>

#include "lowtide/buffer.hpp"
#include "lowtide/cancel.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/parallel.hpp"

namespace lowtide {
namespace {

// Of a dense projection: a tile of rows and the panels of a slice share the second-level cache, and the values of a
// group the first-level one; 48 fills the tiles of the op at every level.
constexpr std::size_t dense_slice = 192, dense_group = 48, dense_tile = 4 * dense_group;

class DenseWalk {
 public:
  DenseWalk(const Rows& rows, const std::function<void(const Slice&)>& visit)
      : rows_(rows),
        visit_(visit),
        v_(make_buffer<float>(dense_group * dense_slice)),
        levels_(make_buffer<unsigned char>(dense_slice * max_width)) {}

  // Slices [from, to) of the rows [begin, end).
  void run(std::size_t begin, std::size_t end, std::size_t from, std::size_t to) {
    for (std::size_t slice = from; slice < to; ++slice) {
      if (slice != from) poll();
      polled_blocks(begin, end, dense_group,
                    [&](std::size_t row, std::size_t stop) { group(row, stop, slice * dense_slice); });
    }
  }

 private:
  void group(std::size_t begin, std::size_t end, std::size_t first) {
    const std::size_t count = std::min(dense_slice, rows_.n_frequencies - first);
    PanelProduct product{};
    product.a = rows_.x + static_cast<std::ptrdiff_t>(begin) * rows_.row_stride;
    product.a_row = rows_.row_stride;
    product.a_step = 1;
    product.n_rows = end - begin;
    product.panel_stride = rows_.n_features * panel_width;
    product.panels = rows_.panels + first / panel_width * product.panel_stride;
    product.n_panels = (count + panel_width - 1) / panel_width;
    product.depth = rows_.n_features;
    product.out = v_.get();
    product.out_stride = dense_slice;
    ops().panel_product(product);
    for (std::size_t row = begin; row < end; ++row) {
      const float* v = v_.get() + (row - begin) * dense_slice;
      // What is not finite in a row is so in all its products; a caller bounds the rest.
      if (!std::isfinite(v[0])) throw std::overflow_error("the projection of a row overflows float32");
      visit_(Slice{row, first, count, v, levels_.get()});
    }
  }

  const Rows& rows_;
  const std::function<void(const Slice&)>& visit_;
  Buffer<float> v_;
  Buffer<unsigned char> levels_;
};

}  // namespace

void for_each_dense_slice(const Rows& rows, const std::function<void(const Slice&)>& visit) {
  const std::size_t n_slices = (rows.n_frequencies + dense_slice - 1) / dense_slice;
  const std::size_t n_tiles = (rows.n + dense_tile - 1) / dense_tile,
                    n_threads = static_cast<std::size_t>(thread_count());
  // Few rows are shared out by their slices.
  const std::size_t n_shares = n_tiles >= 2 * n_threads ? 1 : std::min(n_slices, n_threads);
  std::atomic<std::size_t> next{0};
  parallel_for(n_tiles * n_shares, 1, [&](std::size_t, std::size_t) {
    DenseWalk walk(rows, visit);
    for (std::size_t item = next++; item < n_tiles * n_shares; item = next++) {
      poll();
      const std::size_t begin = item / n_shares * dense_tile, share = item % n_shares;
      walk.run(begin, std::min(rows.n, begin + dense_tile), n_slices * share / n_shares,
               n_slices * (share + 1) / n_shares);
    }
  });
}

}  // namespace lowtide
