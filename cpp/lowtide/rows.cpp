#include "lowtide/rows.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "lowtide/buffer.hpp"
#include "lowtide/dense_rows.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/parallel.hpp"

namespace lowtide {
namespace {

// Frequencies a slice has, unless one block has more: values, signs, rotations, scales and offsets then take 24 KB.
constexpr std::size_t slice_target = 1024;

// Rows that go through one slice before the next, so that its signs, rotations and scales are read from memory once.
constexpr std::size_t rows_a_tile = 16;

// Projected values worth waking a thread for: some 25 microseconds.
constexpr std::size_t values_a_share = 32768;

// Frequencies of all slices but the last.
std::size_t slice_length(const Rows& rows) {
  if (rows.blocks == nullptr) return slice_target;
  return std::max(rows.dim, slice_target / rows.dim * rows.dim);
}

class Walk {
 public:
  Walk(const Rows& rows, const std::function<void(const Slice&)>& visit)
      : rows_(rows),
        visit_(visit),
        length_(slice_length(rows)),
        v_(make_buffer<float>(rows.blocks == nullptr ? 1 : length_)),
        padded_(make_buffer<float>(rows.blocks == nullptr ? 1 : rows_a_tile * rows.dim)),
        levels_(make_buffer<unsigned char>(length_ * max_width)) {}

  void run(std::size_t begin, std::size_t end) {
    for (std::size_t tile = begin; tile < end; tile += rows_a_tile) {
      const std::size_t stop = std::min(end, tile + rows_a_tile);
      for (std::size_t first = 0; first < rows_.n_frequencies; first += length_)
        for (std::size_t row = tile; row < stop; ++row) slice(row, row - tile, first);
    }
  }

 private:
  const float* source(std::size_t row) const { return rows_.x + static_cast<std::ptrdiff_t>(row) * rows_.row_stride; }

  // The row as the op takes it: with zeros up to a power of two.
  const float* padded(std::size_t row, std::size_t in_tile, bool is_new) {
    if (rows_.n_features == rows_.dim) return source(row);
    float* to = padded_.get() + in_tile * rows_.dim;
    if (is_new) {
      std::memcpy(to, source(row), rows_.n_features * sizeof(float));
      std::fill(to + rows_.n_features, to + rows_.dim, 0.0f);
    }
    return to;
  }

  void slice(std::size_t row, std::size_t in_tile, std::size_t first) {
    const std::size_t count = std::min(length_, rows_.n_frequencies - first);
    const float* v = source(row) + first;
    if (rows_.blocks != nullptr) {
      const float* x = padded(row, in_tile, first == 0);
      const float* next = first == 0 && row + 1 < rows_.n ? source(row + 1) : nullptr;
      const std::size_t n_blocks = (count + rows_.dim - 1) / rows_.dim;
      const std::size_t n_last = count - (n_blocks - 1) * rows_.dim;
      ops().hadamard(x, next, rows_.blocks + 3 * first, rows_.dim, n_blocks, n_last, v_.get());
      v = v_.get();
      // A sum that overflowed before the last round has spread to every output: one look is enough.
      if (!std::isfinite(v[0])) throw std::overflow_error("the projection of a row overflows float32");
    }
    visit_(Slice{row, first, count, v, levels_.get()});
  }

  const Rows& rows_;
  const std::function<void(const Slice&)>& visit_;
  std::size_t length_;
  Buffer<float> v_, padded_;
  Buffer<unsigned char> levels_;
};

// Rows that a thread takes at a time: enough to be worth it, whole tiles where there are many rows.
std::size_t rows_a_share(const Rows& rows) {
  const std::size_t even = rows.n / static_cast<std::size_t>(thread_count());
  const std::size_t share = std::max(1 + values_a_share / rows.n_frequencies, std::min(rows_a_tile, even));
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
    for (; begin < rows.n; begin = share * next++) walk.run(begin, std::min(rows.n, begin + share));
  });
}

}  // namespace lowtide
