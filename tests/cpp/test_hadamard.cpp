#include <algorithm>
#include <cmath>
#include <random>

#include "check.hpp"
#include "lowtide/buffer.hpp"
#include "lowtide/ops.hpp"

namespace {

using lowtide::Isa;

// Exactly the floats the contract asks for, so that the sanitizer sees any access beyond them.
lowtide::Buffer<float> aligned_floats(std::size_t n) { return lowtide::make_buffer<float>(n); }

std::vector<float> transform(Isa level, const std::vector<float>& x, const std::vector<float>& blocks, std::size_t dim,
                             std::size_t n_blocks, std::size_t n_last) {
  auto v = aligned_floats(n_blocks * dim);
  lowtide::ops_at(level).hadamard(x.data(), x.data(), blocks.data(), dim, n_blocks, n_last, v.get());
  return std::vector<float>(v.get(), v.get() + (n_blocks - 1) * dim + n_last);
}

// The transposed blocks, added to a row of ones: what is there stays there.
std::vector<float> pulled_back(Isa level, const std::vector<float>& values, const std::vector<float>& blocks,
                               std::size_t dim, std::size_t n_blocks) {
  auto v = aligned_floats(n_blocks * dim), out = aligned_floats(dim);
  std::copy(values.begin(), values.end(), v.get());
  std::fill(out.get(), out.get() + dim, 1.0f);
  lowtide::ops_at(level).hadamard_transpose(v.get(), blocks.data(), dim, n_blocks, out.get());
  return std::vector<float>(out.get(), out.get() + dim);
}

std::vector<float> random_blocks(std::mt19937& random, std::size_t dim, std::size_t n_blocks) {
  std::vector<float> blocks(3 * dim * n_blocks);
  for (float& s : blocks) s = (random() & 1) != 0 ? 1.0f : -1.0f;
  std::uniform_real_distribution<float> turn(0.0f, 6.2831853f);
  for (std::size_t b = 0; b < n_blocks; ++b) {
    float* rotations = blocks.data() + (3 * b + 1) * dim;
    for (std::size_t i = 0; i < dim; i += 2) {
      const float t = turn(random);
      rotations[i] = std::cos(t);
      rotations[i + 1] = std::sin(t);
    }
  }
  return blocks;
}

}  // namespace

LOWTIDE_TEST(hadamard_gives_the_bits_of_scalar_at_every_level) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (std::size_t dim = 64; dim <= 65536; dim *= 2) {
    for (std::size_t n_blocks : {1, 2, 3, 7}) {
      if (dim > 4096 && n_blocks > 2) continue;
      std::vector<float> x(dim);
      for (float& a : x) a = normal(random);
      const auto blocks = random_blocks(random, dim, n_blocks);
      for (std::size_t n_last : {dim, dim - 1, dim / 2 + 1, dim / 2, dim / 4, dim / 16, std::size_t{1}}) {
        const auto truth = transform(Isa::scalar, x, blocks, dim, n_blocks, n_last);
        for (Isa level : lowtide::check::runnable_levels())
          CHECK(lowtide::check::same_bits(truth, transform(level, x, blocks, dim, n_blocks, n_last)),
                std::to_string(dim) + " at " + lowtide::isa_name(level));
      }
    }
  }
}

LOWTIDE_TEST(hadamard_transpose_gives_the_bits_of_scalar_at_every_level) {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (std::size_t dim = 64; dim <= 65536; dim *= 2) {
    for (std::size_t n_blocks : {1, 2, 3, 7}) {
      if (dim > 4096 && n_blocks > 2) continue;
      std::vector<float> values(dim * n_blocks);
      for (float& a : values) a = normal(random);
      const auto blocks = random_blocks(random, dim, n_blocks);
      const auto truth = pulled_back(Isa::scalar, values, blocks, dim, n_blocks);
      for (Isa level : lowtide::check::runnable_levels())
        CHECK(lowtide::check::same_bits(truth, pulled_back(level, values, blocks, dim, n_blocks)),
              std::to_string(dim) + " at " + lowtide::isa_name(level));
    }
  }
}

LOWTIDE_TEST(hadamard_without_signs_and_angles_is_the_plain_transform_times_half_dim) {
  // G G = dim / 2: with all signs +1 and angles 0 the unit vector of index k gives dim / 2 times column k of H.
  const std::size_t dim = 256, k = 77;
  std::vector<float> x(dim, 0.0f), blocks(3 * dim, 1.0f);
  for (std::size_t i = 1; i < dim; i += 2) blocks[dim + i] = 0.0f;
  x[k] = 1.0f;
  for (Isa level : lowtide::check::runnable_levels()) {
    const auto v = transform(level, x, blocks, dim, 1, dim);
    for (std::size_t i = 0; i < dim; ++i)
      CHECK(v[i] == (__builtin_popcountll(i & k) % 2 == 0 ? 128.0f : -128.0f), std::to_string(i));
  }
}
