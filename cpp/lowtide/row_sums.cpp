#include "lowtide/row_sums.hpp"

#include "lowtide/cancel.hpp"
#include "lowtide/parallel.hpp"

namespace lowtide {

void row_sums(const std::uint32_t* words, std::size_t n_rows, std::size_t n_words, const std::uint64_t* factors,
              std::uint64_t* sums) {
  const std::size_t block = items_a_block(n_words);
  parallel_for(n_rows, block, [&](std::size_t begin, std::size_t end) {
    polled_blocks(begin, end, block, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) {
        const std::uint32_t* row = words + i * n_words;
        std::uint64_t one = 0, other = 0;
        for (std::size_t j = 0; j < n_words; ++j) {
          one += row[j] * factors[2 * j];
          other += row[j] * factors[2 * j + 1];
        }
        sums[2 * i] = one;
        sums[2 * i + 1] = other;
      }
    });
  });
}

}  // namespace lowtide
