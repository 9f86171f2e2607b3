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

}  // namespace

void trit_sums(const std::uint64_t* a, std::size_t n_a, const std::uint64_t* b, std::size_t n_b, std::size_t n_groups,
               std::int32_t* sums, std::size_t stride) {
  const std::size_t words = 2 * kTritGroup * n_groups;
  for (std::size_t i = 0; i < n_a; ++i) {
    for (std::size_t j = 0; j < n_b; ++j) {
      const std::uint64_t *x = a + i * words, *y = b + j * words;
      std::int64_t total = 0;
      for (std::size_t g = 0; g < n_groups; ++g, x += 2 * kTritGroup, y += 2 * kTritGroup) {
        // Eight words add at most 64 to a byte, so bytes are summed across once a group.
        std::uint64_t common = 0, opposite = 0;
        for (std::size_t w = 0; w < kTritGroup; ++w) {
          const std::uint64_t both = x[w] & y[w];
          common += ones_in_bytes(both);
          opposite += ones_in_bytes(both & (x[kTritGroup + w] ^ y[kTritGroup + w]));
        }
        total += sum_of_bytes(common) - 2 * sum_of_bytes(opposite);
      }
      sums[i * stride + j] += static_cast<std::int32_t>(total);
    }
  }
}

}  // namespace lowtide::scalar
