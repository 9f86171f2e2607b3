// A panel is its rows, one right after the other.
#include "lowtide/ops/code_dot/code_dot.hpp"

namespace lowtide::scalar {
namespace {

// Ones of eight bytes at once; shifts and additions only, which baseline vector code has for 64-bit lanes.
inline std::uint64_t ones_in_bytes(std::uint64_t x) {
  x -= x >> 1 & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
  return (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
}

std::uint64_t common_ones(const std::uint64_t* x, const std::uint64_t* y, std::size_t n_words) {
  std::uint64_t total = 0;
  for (std::size_t w = 0; w < n_words; w += 31) {
    // 31 words add at most 248 to a byte, so bytes are summed across only once for all of them.
    const std::size_t end = n_words - w < 31 ? n_words : w + 31;
    std::uint64_t bytes = 0;
    for (std::size_t u = w; u < end; ++u) bytes += ones_in_bytes(x[u] & y[u]);
    bytes = (bytes & 0x00FF00FF00FF00FFu) + (bytes >> 8 & 0x00FF00FF00FF00FFu);
    bytes += bytes >> 16;
    total += (bytes & 0xFFFF) + (bytes >> 32 & 0xFFFF);
  }
  return total;
}

std::size_t panel_bytes(std::size_t n_words) { return kDotRows * n_words * 8; }

void prepare(const std::uint64_t* rows, std::size_t n_rows, std::size_t stride, std::size_t n_words, void* panel) {
  auto* to = static_cast<std::uint64_t*>(panel);
  for (std::size_t i = 0; i < n_rows; ++i)
    for (std::size_t w = 0; w < n_words; ++w) to[i * n_words + w] = rows[i * stride + w];
}

void multiply(const DotTile& tile) {
  const auto *left = static_cast<const std::uint64_t*>(tile.left),
             *right = static_cast<const std::uint64_t*>(tile.right);
  for (std::size_t i = 0; i < tile.n_left; ++i)
    for (std::size_t j = tile.upper ? i : 0; j < tile.n_right; ++j)
      tile.sums[i * kDotRows + j] +=
          static_cast<std::int32_t>(common_ones(left + i * tile.n_words, right + j * tile.n_words, tile.n_words));
}

}  // namespace

const DotOp code_dot = {512, panel_bytes, prepare, multiply};

std::uint32_t code_ones(const std::uint64_t* row, std::size_t n_words) {
  return static_cast<std::uint32_t>(common_ones(row, row, n_words));
}

}  // namespace lowtide::scalar
