#include "lowtide/pull_back.hpp"

#include <algorithm>
#include <cstring>

#include "lowtide/buffer.hpp"
#include "lowtide/cancel.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/parallel.hpp"

namespace lowtide {
namespace {

// Values of frequencies that are worked on together, unless one block has more: they stay in the first-level cache.
constexpr std::size_t slice_target = 1024;

// Values worth waking a thread for: some 25 microseconds.
constexpr std::size_t values_a_share = 32768;

}  // namespace

void pull_back(const PullBack& task) {
  const std::size_t dim = task.dim, p = task.n_frequencies;
  const std::size_t length = std::max(dim, slice_target / dim * dim);
  parallel_for(task.n, 1 + values_a_share / (p + 1), [&](std::size_t begin, std::size_t end) {
    const auto v = make_buffer<float>(length), sum = make_buffer<float>(dim);
    const auto pull_row = [&](std::size_t row) {
      const float* values = task.values + static_cast<std::ptrdiff_t>(row) * task.row_stride;
      std::fill(sum.get(), sum.get() + dim, 0.0f);
      for (std::size_t first = 0; first < p; first += length) {
        const std::size_t count = std::min(length, p - first), n_blocks = (count + dim - 1) / dim;
        ops().project(values + first, count, task.scale + first, v.get());
        std::fill(v.get() + count, v.get() + n_blocks * dim, 0.0f);
        ops().hadamard_transpose(v.get(), task.blocks + 3 * first, dim, n_blocks, sum.get());
      }
      std::memcpy(task.out + row * task.n_features, sum.get(), task.n_features * sizeof(float));
    };
    polled_blocks(begin, end, items_a_block(p), [&](std::size_t first, std::size_t last) {
      for (std::size_t row = first; row < last; ++row) pull_row(row);
    });
  });
}

}  // namespace lowtide
