#include "lowtide/ops/hadamard/hadamard.hpp"

// Compiled without contraction: the products of a rotation are rounded on their own.
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

void rotate(float* v, const float* rotations, std::size_t dim) {
  for (std::size_t i = 0; i < dim; i += 2) {
    const float a = v[i], b = v[i + 1], c = rotations[i], s = rotations[i + 1];
    v[i] = a * c - b * s;
    v[i + 1] = a * s + b * c;
  }
}

void rotate_back(float* v, const float* rotations, std::size_t dim) {
  for (std::size_t i = 0; i < dim; i += 2) {
    const float a = v[i], b = v[i + 1], c = rotations[i], s = rotations[i + 1];
    v[i] = a * c + b * s;
    v[i + 1] = b * c - a * s;
  }
}

void flip(float* v, const float* signs, std::size_t dim) {
  for (std::size_t i = 0; i < dim; ++i) v[i] *= signs[i];
}

void block(const float* x, const float* drawn, std::size_t dim, float* v) {
  for (std::size_t i = 0; i < dim; ++i) v[i] = x[i];
  flip(v, drawn, dim);
  for (std::size_t h = dim / 2; h >= 2; h /= 2) stage(v, dim, h);
  rotate(v, drawn + dim, dim);
  for (std::size_t h = 2; h < dim; h *= 2) stage(v, dim, h);
  flip(v, drawn + 2 * dim, dim);
  for (std::size_t h = dim / 2; h >= 1; h /= 2) stage(v, dim, h);
}

void block_transpose(float* v, const float* drawn, std::size_t dim, float* out) {
  for (std::size_t h = dim / 2; h >= 1; h /= 2) stage(v, dim, h);
  flip(v, drawn + 2 * dim, dim);
  for (std::size_t h = 2; h < dim; h *= 2) stage(v, dim, h);
  rotate_back(v, drawn + dim, dim);
  for (std::size_t h = dim / 2; h >= 2; h /= 2) stage(v, dim, h);
  flip(v, drawn, dim);
  for (std::size_t i = 0; i < dim; ++i) out[i] += v[i];
}

}  // namespace

void hadamard(const float* x, const float*, const float* blocks, std::size_t dim, std::size_t n_blocks, std::size_t,
              float* v) {
  for (std::size_t b = 0; b < n_blocks; ++b) block(x, blocks + 3 * dim * b, dim, v + dim * b);
}

void hadamard_transpose(float* v, const float* blocks, std::size_t dim, std::size_t n_blocks, float* out) {
  for (std::size_t b = 0; b < n_blocks; ++b) block_transpose(v + dim * b, blocks + 3 * dim * b, dim, out);
}

void rotation(const float* x, const float* drawn, std::size_t d, std::size_t n_rounds, float* v) {
  const std::size_t half = d / 2;
  std::size_t size = 1;
  while (2 * size <= d) size *= 2;
  for (std::size_t i = 0; i < d; ++i) v[i] = x[i];
  for (std::size_t round = 0; round < n_rounds; ++round, drawn += 2 * d) {
    flip(v, drawn, d);
    float* block_start = round % 2 == 0 ? v : v + d - size;
    for (std::size_t h = size / 2; h >= 1; h /= 2) stage(block_start, size, h);
    if (round + 1 == n_rounds) break;
    const float *cosines = drawn + d, *sines = cosines + half;
    for (std::size_t i = 0; i < half; ++i) {
      const float a = v[i], b = v[i + half], c = cosines[i], s = sines[i];
      v[i] = a * c - b * s;
      v[i + half] = a * s + b * c;
    }
  }
}

}  // namespace lowtide::scalar
