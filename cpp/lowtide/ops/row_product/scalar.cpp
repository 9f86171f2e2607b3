#include "lowtide/ops/row_product/row_product.hpp"

namespace lowtide::scalar {
namespace {

template <typename T>
void product_of(const RowProduct<T>& p) {
  const std::uint64_t mask = (std::uint64_t{1} << p.bits) - 1;
  for (std::size_t k = 0; k < p.n_columns; ++k) {
    T sum = 0;
    for (std::size_t j = 0; j < p.n_levels; ++j) {
      const std::size_t at = j * p.bits, in_word = at % 64;
      std::uint64_t level = p.row[at / 64] >> in_word;
      if (in_word + p.bits > 64) level |= p.row[at / 64 + 1] << (64 - in_word);
      for (std::size_t q = 0; q < p.width; ++q)
        sum += static_cast<T>(p.book[(level & mask) * p.width + q]) * p.columns[k * p.stride + j * p.width + q];
    }
    p.out[k] = sum;
  }
}

}  // namespace

void row_product(const RowProduct<float>& product) { product_of(product); }
void row_product(const RowProduct<double>& product) { product_of(product); }

}  // namespace lowtide::scalar
