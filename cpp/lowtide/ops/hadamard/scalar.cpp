#include "lowtide/ops/hadamard/hadamard.hpp"

namespace lowtide::scalar {
namespace {

void stage(float* v, std::size_t dim, std::size_t stride) {
  for (std::size_t start = 0; start < dim; start += 2 * stride) {
    for (std::size_t i = start; i < start + stride; ++i) {
      const float a = v[i], b = v[i + stride];
      v[i] = a + b;
      v[i + stride] = a - b;
    }
  }
}

void flip(float* v, const float* signs, std::size_t dim) {
  for (std::size_t i = 0; i < dim; ++i) v[i] *= signs[i];
}

void block(const float* x, const float* signs, std::size_t dim, float* v) {
  for (std::size_t i = 0; i < dim; ++i) v[i] = x[i];
  flip(v, signs, dim);
  for (std::size_t h = dim / 2; h >= 1; h /= 2) stage(v, dim, h);
  flip(v, signs + dim, dim);
  for (std::size_t h = 1; h < dim; h *= 2) stage(v, dim, h);
  flip(v, signs + 2 * dim, dim);
  for (std::size_t h = dim / 2; h >= 1; h /= 2) stage(v, dim, h);
}

}  // namespace

void hadamard(const float* x, const float*, const float* signs, std::size_t dim, std::size_t n_blocks, std::size_t,
              float* v) {
  for (std::size_t b = 0; b < n_blocks; ++b) block(x, signs + 3 * dim * b, dim, v + dim * b);
}

}  // namespace lowtide::scalar
