#include <cstdlib>
#include <memory>
#include <random>

#include "check.hpp"
#include "lowtide/ops.hpp"

namespace {

using lowtide::Isa;

struct Free {
  void operator()(float* p) const { std::free(p); }
};

// Exactly the floats the contract asks for, so that the sanitizer sees any access beyond them.
std::unique_ptr<float[], Free> aligned_floats(std::size_t n) {
  return std::unique_ptr<float[], Free>(static_cast<float*>(std::aligned_alloc(64, n * sizeof(float))));
}

std::vector<float> transform(Isa level, const std::vector<float>& x, const std::vector<float>& signs, std::size_t dim,
                             std::size_t n_blocks, std::size_t n_last) {
  auto v = aligned_floats(n_blocks * dim);
  lowtide::ops_at(level).hadamard(x.data(), x.data(), signs.data(), dim, n_blocks, n_last, v.get());
  return std::vector<float>(v.get(), v.get() + (n_blocks - 1) * dim + n_last);
}

}  // namespace

LOWTIDE_TEST(hadamard_gives_the_bits_of_scalar_at_every_level) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (std::size_t dim = 64; dim <= 65536; dim *= 2) {
    for (std::size_t n_blocks : {1, 2, 3, 7}) {
      if (dim > 4096 && n_blocks > 2) continue;
      std::vector<float> x(dim), signs(3 * dim * n_blocks);
      for (float& a : x) a = normal(random);
      for (float& s : signs) s = (random() & 1) != 0 ? 1.0f : -1.0f;
      for (std::size_t n_last : {dim, dim - 1, dim / 2 + 1, dim / 2, dim / 4, dim / 16, std::size_t{1}}) {
        const auto truth = transform(Isa::scalar, x, signs, dim, n_blocks, n_last);
        for (Isa level : lowtide::check::runnable_levels())
          CHECK(lowtide::check::same_bits(truth, transform(level, x, signs, dim, n_blocks, n_last)),
                std::to_string(dim) + " at " + lowtide::isa_name(level));
      }
    }
  }
}

LOWTIDE_TEST(hadamard_without_signs_is_the_plain_transform_times_dim) {
  // H H H = dim H: with all signs +1 the unit vector of index k gives dim times column k of H.
  const std::size_t dim = 256, k = 77;
  std::vector<float> x(dim, 0.0f), signs(3 * dim, 1.0f);
  x[k] = 1.0f;
  for (Isa level : lowtide::check::runnable_levels()) {
    const auto v = transform(level, x, signs, dim, 1, dim);
    for (std::size_t i = 0; i < dim; ++i)
      CHECK(v[i] == (__builtin_popcountll(i & k) % 2 == 0 ? 256.0f : -256.0f), std::to_string(i));
  }
}
