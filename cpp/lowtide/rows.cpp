#include "lowtide/rows.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "lowtide/buffer.hpp"
#include "lowtide/cancel.hpp"
#include "lowtide/dense_rows.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/parallel.hpp"

namespace lowtide {
namespace {

// Frequencies a slice has, unless one block has more: values, signs, rotations, scales and offsets then take 24 KB.
constexpr std::size_t slice_target = 1024;

// Rows that go through one slice before the next, so that its signs, rotations and scales are read from memory once.
constexpr std::size_t rows_a_tile = 16;

// Values at places that are gathered before they are visited, unless one row has more: 256 KB.
constexpr std::size_t gathered_target = std::size_t{1} << 16;

// Projected values worth waking a thread for: some 25 microseconds.
constexpr std::size_t values_a_share = 32768;

// Frequencies of all slices but the last.
std::size_t slice_length(const Rows& rows) {
  // Rotations need not end at a whole word of levels: a row is one slice.
  if (rows.rotations != nullptr) return rows.n_blocks * rows.n_features;
  if (rows.blocks == nullptr) return slice_target;
  return std::max(rows.dim, slice_target / rows.dim * rows.dim);
}

// Rows of a tile: with places as many as their gathered values leave room for, and no room for rows that there are not.
std::size_t tile_rows(const Rows& rows) {
  if (rows.places == nullptr) return rows_a_tile;
  return std::clamp<std::size_t>(gathered_target / rows.n_frequencies, 1, std::min(rows.n, rows_a_tile));
}

class Walk {
 public:
  Walk(const Rows& rows, const std::function<void(const Slice&)>& visit)
      : rows_(rows),
        visit_(visit),
        length_(slice_length(rows)),
        tile_(tile_rows(rows)),
        v_(make_buffer<float>(rows.blocks == nullptr && rows.rotations == nullptr ? 1 : length_)),
        padded_(make_buffer<float>(rows.blocks == nullptr ? 1 : tile_ * rows.dim)),
        gathered_(make_buffer<float>(rows.places == nullptr ? 1 : tile_ * rows.n_frequencies)),
        levels_(make_buffer<unsigned char>(length_ * max_width)) {}

  void run(std::size_t begin, std::size_t end) {
    for (std::size_t tile = begin; tile < end; tile += tile_) {
      const std::size_t stop = std::min(end, tile + tile_);
      if (rows_.places != nullptr) {
        gather(tile, stop);
        continue;
      }
      polled_blocks(0, rows_.n_frequencies, length_, [&](std::size_t first, std::size_t) {
        for (std::size_t row = tile; row < stop; ++row) slice(row, row - tile, first);
      });
    }
  }

 private:
  const float* source(std::size_t row) const { return rows_.x + static_cast<std::ptrdiff_t>(row) * rows_.row_stride; }

  // The row as the op takes it: times the factors, with zeros up to a power of two.
  const float* padded(std::size_t row, std::size_t in_tile, bool is_new) {
    if (rows_.n_features == rows_.dim && rows_.factors == nullptr) return source(row);
    float* to = padded_.get() + in_tile * rows_.dim;
    if (is_new) {
      const float* from = source(row);
      if (rows_.factors == nullptr) {
        std::memcpy(to, from, rows_.n_features * sizeof(float));
      } else {
        for (std::size_t i = 0; i < rows_.n_features; ++i) to[i] = from[i] * rows_.factors[i];
      }
      std::fill(to + rows_.n_features, to + rows_.dim, 0.0f);
    }
    return to;
  }

  // The outputs of n_blocks blocks from `block` on, of which the last is read up to n_last; the first of a row that are
  // asked for say so.
  const float* transformed(std::size_t row, std::size_t in_tile, std::size_t block, std::size_t n_blocks,
                           std::size_t n_last, bool is_new) {
    const float* x = padded(row, in_tile, is_new);
    const float* next = is_new && row + 1 < rows_.n ? source(row + 1) : nullptr;
    ops().hadamard(x, next, rows_.blocks + 3 * block * rows_.dim, rows_.dim, n_blocks, n_last, v_.get());
    // A sum that overflowed before the last round has spread to every output: one look is enough.
    if (!std::isfinite(v_.get()[0])) throw std::overflow_error("the projection of a row overflows float32");
    return v_.get();
  }

  const float* rotated(std::size_t row) {
    const std::size_t d = rows_.n_features;
    for (std::size_t b = 0; b < rows_.n_blocks; ++b)
      ops().rotation(source(row), rows_.rotations + b * (2 * rows_.n_rounds - 1) * d, d, rows_.n_rounds,
                     v_.get() + b * d);
    if (!std::isfinite(v_.get()[0])) throw std::overflow_error("the projection of a row overflows float32");
    return v_.get();
  }

  void slice(std::size_t row, std::size_t in_tile, std::size_t first) {
    const std::size_t count = std::min(length_, rows_.n_frequencies - first);
    const float* v = rows_.rotations == nullptr ? source(row) + first : rotated(row);
    if (rows_.blocks != nullptr) {
      const std::size_t n_blocks = (count + rows_.dim - 1) / rows_.dim;
      v = transformed(row, in_tile, first / rows_.dim, n_blocks, count - (n_blocks - 1) * rows_.dim, first == 0);
    }
    visit_(Slice{row, first, count, v, levels_.get()});
  }

  // Rows of a tile through the blocks that hold a place, as many at a time as a slice has, and then to the visitor in
  // slices of whole words.
  void gather(std::size_t tile, std::size_t stop) {
    const std::size_t dim = rows_.dim, p = rows_.n_frequencies;
    const std::uint32_t* places = rows_.places;
    for (std::size_t from = 0, to = 0; from < p; from = to) {
      if (from != 0) poll();
      const std::size_t block = places[from] / dim, start = block * dim;
      while (to < p && places[to] < start + length_) ++to;
      const std::size_t last = places[to - 1] - start;
      for (std::size_t row = tile; row < stop; ++row) {
        const float* v = transformed(row, row - tile, block, last / dim + 1, last % dim + 1, from == 0);
        float* out = gathered_.get() + (row - tile) * p;
        for (std::size_t j = from; j < to; ++j) out[j] = v[places[j] - start];
      }
    }
    for (std::size_t row = tile; row < stop; ++row)
      for (std::size_t first = 0; first < p; first += slice_target)
        visit_(Slice{row, first, std::min(slice_target, p - first), gathered_.get() + (row - tile) * p + first,
                     levels_.get()});
  }

  const Rows& rows_;
  const std::function<void(const Slice&)>& visit_;
  std::size_t length_, tile_;
  Buffer<float> v_, padded_, gathered_;
  Buffer<unsigned char> levels_;
};

// Rows that a thread takes at a time: enough to be worth it, whole tiles where there are many rows.
std::size_t rows_a_share(const Rows& rows) {
  const std::size_t even = rows.n / static_cast<std::size_t>(thread_count());
  const std::size_t values = rows.places == nullptr ? rows.n_frequencies : rows.n_blocks * rows.dim;
  const std::size_t share = std::max(1 + values_a_share / values, std::min(rows_a_tile, even));
  return share <= rows_a_tile ? share : (share + rows_a_tile - 1) / rows_a_tile * rows_a_tile;
}

}  // namespace

void for_each_slice(const Rows& rows, const std::function<void(const Slice&)>& visit) {
  if (rows.n == 0 || rows.n_frequencies == 0) return;
  if (rows.panels != nullptr) return for_each_dense_slice(rows, visit);
  const std::size_t share = rows_a_share(rows);
  // Handed out as threads come free, not split in advance: on a busy machine a thread may wait long for a processor.
  std::atomic<std::size_t> next{0};
  parallel_for((rows.n + share - 1) / share, 1, [&](std::size_t, std::size_t) {
    std::size_t begin = share * next++;
    if (begin >= rows.n) return;
    Walk walk(rows, visit);
    for (;;) {
      walk.run(begin, std::min(rows.n, begin + share));
      begin = share * next++;
      if (begin >= rows.n) return;
      poll();
    }
  });
}

}  // namespace lowtide
