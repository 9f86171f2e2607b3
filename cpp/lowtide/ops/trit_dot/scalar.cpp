// A panel is rows of two planes, [row][pluses][minuses].
#include "lowtide/ops/trit_dot/trit_dot.hpp"

namespace lowtide::scalar {
namespace {

// Ones of eight bytes at once; shifts and additions only, which baseline vector code has for 64-bit lanes.
inline std::uint64_t ones_in_bytes(std::uint64_t x) {
  x -= x >> 1 & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
  return (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
}

inline std::int64_t sum_of_bytes(std::uint64_t bytes) {
  bytes = (bytes & 0x00FF00FF00FF00FFu) + (bytes >> 8 & 0x00FF00FF00FF00FFu);
  bytes += bytes >> 16;
  return static_cast<std::int64_t>((bytes & 0xFFFF) + (bytes >> 32 & 0xFFFF));
}

// The dot product of two rows of n words a plane.
std::int64_t dot(const std::uint64_t* x, const std::uint64_t* y, std::size_t n) {
  std::int64_t total = 0;
  for (std::size_t w = 0; w < n; w += 31) {
    // 31 words add at most 248 to a byte, so bytes are summed across only once for all of them.
    const std::size_t end = n - w < 31 ? n : w + 31;
    std::uint64_t common = 0, opposite = 0;
    for (std::size_t u = w; u < end; ++u) {
      const std::uint64_t both = (x[u] ^ x[n + u]) & (y[u] ^ y[n + u]);
      common += ones_in_bytes(both);
      opposite += ones_in_bytes(both & (x[n + u] ^ y[n + u]));
    }
    total += sum_of_bytes(common) - 2 * sum_of_bytes(opposite);
  }
  return total;
}

std::size_t plane_words(std::size_t n_words) { return (n_words + 1) / 2; }

std::size_t panel_bytes(std::size_t n_words) { return kDotRows * 2 * plane_words(n_words) * 8; }

// Trits of even words in even bits, of odd words in odd ones: any order will do that is the same in all rows.
void prepare(const std::uint64_t* rows, std::size_t n_rows, std::size_t stride, std::size_t n_words, void* panel) {
  constexpr std::uint64_t even = 0x5555555555555555u;
  const std::size_t words = plane_words(n_words);
  auto* to = static_cast<std::uint64_t*>(panel);
  for (std::size_t i = 0; i < n_rows; ++i, to += 2 * words)
    for (std::size_t w = 0; w < words; ++w) {
      const std::uint64_t *from = rows + i * stride + 2 * w, second = 2 * w + 1 < n_words ? from[1] : 0;
      to[w] = (from[0] & even) | (second << 1 & ~even);
      to[words + w] = (from[0] >> 1 & even) | (second & ~even);
    }
}

void multiply(const DotTile& tile) {
  const auto *left = static_cast<const std::uint64_t*>(tile.left),
             *right = static_cast<const std::uint64_t*>(tile.right);
  const std::size_t words = plane_words(tile.n_words);
  for (std::size_t i = 0; i < tile.n_left; ++i)
    for (std::size_t j = tile.upper ? i : 0; j < tile.n_right; ++j)
      tile.sums[i * kDotRows + j] += static_cast<std::int32_t>(dot(left + i * 2 * words, right + j * 2 * words, words));
}

}  // namespace

const DotOp trit_dot = {512, panel_bytes, prepare, multiply};

}  // namespace lowtide::scalar
