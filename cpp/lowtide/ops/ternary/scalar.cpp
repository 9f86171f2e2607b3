#include "lowtide/ops/ternary/ternary.hpp"

namespace lowtide::scalar {
namespace {

// Rows at a time: few enough that their sums stay in registers.
constexpr std::size_t few_rows = 16;

template <typename T>
void sums_of(const T* tile, const std::uint16_t* lists, const std::uint32_t* starts, std::size_t n_outputs, bool first,
             T* sums) {
  for (std::size_t j = 0; j < n_outputs; ++j, sums += kTernaryRows) {
    for (std::size_t begin = 0; begin < kTernaryRows; begin += few_rows) {
      T total[few_rows];
      for (std::size_t r = 0; r < few_rows; ++r) total[r] = first ? T{0} : sums[begin + r];
      for (std::size_t i = starts[2 * j]; i < starts[2 * j + 1]; ++i) {
        const T* line = tile + lists[i] * kTernaryRows + begin;
        for (std::size_t r = 0; r < few_rows; ++r) total[r] = static_cast<T>(total[r] + line[r]);
      }
      for (std::size_t i = starts[2 * j + 1]; i < starts[2 * j + 2]; ++i) {
        const T* line = tile + lists[i] * kTernaryRows + begin;
        for (std::size_t r = 0; r < few_rows; ++r) total[r] = static_cast<T>(total[r] - line[r]);
      }
      for (std::size_t r = 0; r < few_rows; ++r) sums[begin + r] = total[r];
    }
  }
}

template <typename T>
void trits_of(const T* sums, std::size_t n_outputs, const T* upper, const T* lower, bool even, std::uint64_t* words) {
  for (std::size_t r = 0; r < kTernaryRows; ++r) words[r] = 0;
  const std::uint64_t below = even ? 1 : 2;
  for (std::size_t j = 0; j < n_outputs; ++j, sums += kTernaryRows)
    for (std::size_t r = 0; r < kTernaryRows; ++r)
      words[r] |= (sums[r] > upper[j] ? std::uint64_t{1} : sums[r] < lower[j] ? below : 0) << (2 * j);
}

}  // namespace

const TernaryOps ternary = {{sums_of, trits_of}, {sums_of, trits_of}, {sums_of, trits_of}};

}  // namespace lowtide::scalar
