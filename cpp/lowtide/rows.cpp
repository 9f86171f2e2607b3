#include "lowtide/rows.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include "lowtide/ops.hpp"
#include "lowtide/parallel.hpp"

namespace lowtide {
namespace {

constexpr std::size_t cache_line = 64;

// Frequencies a slice has, unless one block has more: values, signs, scales and offsets then stay in 48 KB.
constexpr std::size_t slice_target = 2048;

// Rows that go through one slice before the next, so that its signs and scales are read from memory once.
constexpr std::size_t rows_a_tile = 16;

// Multiplications worth waking a thread for, in frequencies.
constexpr std::size_t frequencies_a_range = 65536;

template <typename T>
class Buffer {
 public:
  explicit Buffer(std::size_t n) : data_(static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{cache_line}))) {}
  ~Buffer() { ::operator delete(data_, std::align_val_t{cache_line}); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* data() { return data_; }

 private:
  T* data_;
};

// Frequencies of all slices but the last.
std::size_t slice_length(const Rows& rows) {
  if (rows.signs == nullptr) return slice_target;
  return std::max(rows.dim, slice_target / rows.dim * rows.dim);
}

class Walk {
 public:
  Walk(const Rows& rows, const std::function<void(const Slice&)>& visit)
      : rows_(rows),
        visit_(visit),
        length_(slice_length(rows)),
        v_(rows.signs == nullptr ? 1 : length_),
        padded_(rows.signs == nullptr ? 1 : rows_a_tile * rows.dim),
        levels_(length_ * max_width) {}

  void run(std::size_t begin, std::size_t end) {
    for (std::size_t tile = begin; tile < end; tile += rows_a_tile) {
      const std::size_t stop = std::min(end, tile + rows_a_tile);
      if (pads()) pad(tile, stop);
      for (std::size_t first = 0; first < rows_.n_frequencies; first += length_)
        for (std::size_t row = tile; row < stop; ++row) slice(row, row - tile, first);
    }
  }

 private:
  bool pads() const { return rows_.signs != nullptr && rows_.n_features < rows_.dim; }

  const float* source(std::size_t row) const { return rows_.x + static_cast<std::ptrdiff_t>(row) * rows_.row_stride; }

  void pad(std::size_t tile, std::size_t stop) {
    for (std::size_t row = tile; row < stop; ++row) {
      float* to = padded_.data() + (row - tile) * rows_.dim;
      std::memcpy(to, source(row), rows_.n_features * sizeof(float));
      std::fill(to + rows_.n_features, to + rows_.dim, 0.0f);
    }
  }

  void slice(std::size_t row, std::size_t in_tile, std::size_t first) {
    const std::size_t count = std::min(length_, rows_.n_frequencies - first);
    const float* v = source(row) + first;
    if (rows_.signs != nullptr) {
      const float* x = pads() ? padded_.data() + in_tile * rows_.dim : source(row);
      const std::size_t n_blocks = (count + rows_.dim - 1) / rows_.dim;
      ops().hadamard(x, rows_.signs + 3 * first, rows_.dim, n_blocks, count - (n_blocks - 1) * rows_.dim, v_.data());
      v = v_.data();
    }
    visit_(Slice{row, first, count, v, levels_.data()});
  }

  const Rows& rows_;
  const std::function<void(const Slice&)>& visit_;
  std::size_t length_;
  Buffer<float> v_, padded_;
  Buffer<unsigned char> levels_;
};

}  // namespace

void for_each_slice(const Rows& rows, const std::function<void(const Slice&)>& visit) {
  if (rows.n == 0 || rows.n_frequencies == 0) return;
  const std::size_t grain = 1 + frequencies_a_range / rows.n_frequencies;
  parallel_for(rows.n, grain, [&](std::size_t begin, std::size_t end) { Walk(rows, visit).run(begin, end); });
}

}  // namespace lowtide
