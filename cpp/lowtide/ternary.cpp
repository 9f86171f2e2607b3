#include "lowtide/ternary.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <stdexcept>
#include <vector>

#include "lowtide/buffer.hpp"
#include "lowtide/cancel.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/parallel.hpp"

namespace lowtide {
namespace {

// Outputs whose sums are kept at a time: 16 or 32 KB of them.
constexpr std::size_t outputs_a_block = 128;

// Terms of all outputs together that are worth a second thread for one tile alone.
constexpr std::size_t terms_a_share = 65536;

template <typename T>
const TernaryOp<T>& op_for();
template <>
const TernaryOp<std::int16_t>& op_for() {
  return ops().ternary.i16;
}
template <>
const TernaryOp<std::int32_t>& op_for() {
  return ops().ternary.i32;
}
template <>
const TernaryOp<float>& op_for() {
  return ops().ternary.f32;
}

std::size_t chunks_of(const TernaryLists& p) { return (p.n_features + p.chunk - 1) / p.chunk; }

// One thread's work: tiles of rows by feature, and the trits of a range of outputs.
template <typename X, typename T>
class Walk {
 public:
  Walk(const TernaryRows<X>& rows, const TernaryLists& projection, const T* upper, const T* lower, bool even,
       std::uint64_t* out)
      : rows_(rows),
        projection_(projection),
        upper_(upper),
        lower_(lower),
        even_(even),
        out_(out),
        tile_(make_buffer<T>(chunks_of(projection) * projection.chunk * kTernaryRows)),
        sums_(make_buffer<T>(outputs_a_block * kTernaryRows)) {}

  void run(std::size_t tile, std::size_t first_output, std::size_t last_output) {
    const std::size_t row = tile * kTernaryRows, n = std::min(kTernaryRows, rows_.n - row);
    load(row, n);
    for (std::size_t j = first_output; j < last_output; j += outputs_a_block) {
      poll();
      block(row, n, j, std::min(outputs_a_block, last_output - j));
    }
  }

 private:
  // Rows past the last are zeros; entries past the last feature are never listed.
  void load(std::size_t row, std::size_t n) {
    const X* x = rows_.x + static_cast<std::ptrdiff_t>(row) * rows_.row_stride;
    for (std::size_t k = 0; k < projection_.n_features; ++k) {
      T* line = tile_.get() + k * kTernaryRows;
      for (std::size_t r = 0; r < n; ++r) line[r] = x[static_cast<std::ptrdiff_t>(r) * rows_.row_stride + k];
      for (std::size_t r = n; r < kTernaryRows; ++r) line[r] = T{0};
    }
  }

  void block(std::size_t row, std::size_t n, std::size_t first, std::size_t count) {
    const TernaryOp<T>& op = op_for<T>();
    for (std::size_t c = 0; c < chunks_of(projection_); ++c)
      op.sums(tile_.get() + c * projection_.chunk * kTernaryRows, projection_.lists,
              projection_.starts + 2 * (c * projection_.n_outputs + first), count, c == 0, sums_.get());
    const std::size_t row_words = words_per_row(projection_.n_outputs, 2);
    for (std::size_t j = 0; j < count; j += 32) {
      std::uint64_t words[kTernaryRows];
      op.trits(sums_.get() + j * kTernaryRows, std::min<std::size_t>(32, count - j), upper_ + first + j,
               lower_ + first + j, even_, words);
      std::uint64_t* out = out_ + row * row_words + (first + j) / 32;
      for (std::size_t r = 0; r < n; ++r) out[r * row_words] = words[r];
    }
  }

  const TernaryRows<X>& rows_;
  const TernaryLists& projection_;
  const T *upper_, *lower_;
  bool even_;
  std::uint64_t* out_;
  Buffer<T> tile_, sums_;
};

template <typename X, typename T>
void encode(const TernaryRows<X>& rows, const TernaryLists& p, const T* upper, const T* lower, bool even,
            std::uint64_t* out) {
  if (rows.n == 0) return;
  const std::size_t n_tiles = (rows.n + kTernaryRows - 1) / kTernaryRows;
  const std::size_t n_blocks = (p.n_outputs + outputs_a_block - 1) / outputs_a_block;
  const auto threads = static_cast<std::size_t>(thread_count());
  // A few rows are split by outputs instead, each thread making the tile for itself.
  const std::size_t shares = p.starts[2 * chunks_of(p) * p.n_outputs] / terms_a_share + 1;
  const std::size_t parts = n_tiles >= threads ? 1 : std::min({threads, n_blocks, shares});
  const std::size_t outputs = (n_blocks + parts - 1) / parts * outputs_a_block;
  std::atomic<std::size_t> next{0};
  parallel_for(n_tiles * parts, 1, [&](std::size_t, std::size_t) {
    std::size_t i = next++;
    if (i >= n_tiles * parts) return;
    Walk<X, T> walk(rows, p, upper, lower, even, out);
    for (; i < n_tiles * parts; i = next++) {
      const std::size_t first = i % parts * outputs;
      walk.run(i / parts, std::min(first, p.n_outputs), std::min(first + outputs, p.n_outputs));
    }
  });
}

// Sums lie well inside int16, so a threshold beyond it is as good as one at its end.
std::vector<std::int16_t> narrowed(const std::int32_t* thresholds, std::size_t n) {
  using Limits = std::numeric_limits<std::int16_t>;
  std::vector<std::int16_t> out(n);
  for (std::size_t j = 0; j < n; ++j)
    out[j] = static_cast<std::int16_t>(std::clamp<std::int32_t>(thresholds[j], Limits::min(), Limits::max()));
  return out;
}

}  // namespace

bool all_below(const std::uint16_t* lists, std::size_t n, std::size_t chunk) {
  if (chunk > 65535) return true;
  const auto limit = static_cast<std::uint16_t>(chunk);
  std::uint16_t beyond = 0;  // without a branch, so that the loop becomes vector code
  for (std::size_t i = 0; i < n; ++i) beyond |= static_cast<std::uint16_t>(lists[i] >= limit);
  return beyond == 0;
}

std::size_t most_terms(const TernaryLists& p) {
  std::size_t most = 0;
  for (std::size_t j = 0; j < p.n_outputs; ++j) {
    std::size_t terms[2] = {0, 0};
    for (std::size_t c = 0; c < chunks_of(p); ++c) {
      const std::uint32_t* start = p.starts + 2 * (c * p.n_outputs + j);
      for (int s = 0; s < 2; ++s) terms[s] += start[s + 1] - start[s];
    }
    most = std::max({most, terms[0], terms[1]});
  }
  return most;
}

template <>
void ternary_encode(const TernaryRows<std::uint8_t>& rows, const TernaryLists& p, const std::int32_t* upper,
                    const std::int32_t* lower, bool even, std::uint64_t* out) {
  const std::size_t terms = most_terms(p);
  if (terms > max_integer_terms) throw std::invalid_argument("integer rows need at most 65535 terms of a sign");
  // Strictly inside, so that the ends of int16 can stand for thresholds that are never, or always, passed.
  if (terms * 255 >= static_cast<std::size_t>(std::numeric_limits<std::int16_t>::max()))
    return encode(rows, p, upper, lower, even, out);
  const auto high = narrowed(upper, p.n_outputs), low = narrowed(lower, p.n_outputs);
  encode(rows, p, high.data(), low.data(), even, out);
}

template <>
void ternary_encode(const TernaryRows<std::int16_t>& rows, const TernaryLists& p, const std::int32_t* upper,
                    const std::int32_t* lower, bool even, std::uint64_t* out) {
  if (most_terms(p) > max_integer_terms) throw std::invalid_argument("integer rows need at most 65535 terms of a sign");
  encode(rows, p, upper, lower, even, out);
}

template <>
void ternary_encode(const TernaryRows<float>& rows, const TernaryLists& p, const float* upper, const float* lower,
                    bool even, std::uint64_t* out) {
  encode(rows, p, upper, lower, even, out);
}

}  // namespace lowtide
