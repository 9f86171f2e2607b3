#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "check.hpp"
#include "lowtide/buffer.hpp"
#include "lowtide/layout.hpp"
#include "lowtide/ops.hpp"

namespace {

using lowtide::Isa;
using lowtide::LevelRule;

struct Input {
  std::vector<float> v, scale, offset;
};

// Ordinary phases, and at the front those where rounding is delicate.
Input draw(std::size_t n) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> hard = {0.0f, -0.0f,      -1e-10f, 0.25f,           0.5f, 1.5f, -0.75f, 3e38f, inf,
                                   -inf, 8388608.5f, 1e-40f,  0.25f + 0x1p-24f};
  std::mt19937 random(static_cast<unsigned>(n));
  std::uniform_real_distribution<float> uniform(-20.0f, 20.0f);
  Input input{std::vector<float>(n), std::vector<float>(n), std::vector<float>(n)};
  for (std::size_t j = 0; j < n; ++j) {
    const bool is_hard = j < hard.size();
    input.v[j] = is_hard ? hard[j] : uniform(random);
    input.scale[j] = is_hard ? 1.0f : uniform(random);
    input.offset[j] = is_hard ? 0.0f : uniform(random);
  }
  return input;
}

LevelRule rule_of(unsigned n_borders, bool even, bool equal, unsigned width) {
  std::mt19937 random(n_borders);
  LevelRule rule{};
  rule.width = width;
  rule.even = even;
  rule.equal = equal;
  rule.n_borders = n_borders;
  while ((1u << rule.n_steps) <= n_borders) ++rule.n_steps;
  for (unsigned k = 0; k < width; ++k) rule.shifts[k] = -0.25f * static_cast<float>(k);
  for (unsigned i = 0; i <= lowtide::max_borders; ++i) {
    const float border = static_cast<float>(i + 1) / static_cast<float>(n_borders + 1);
    rule.borders[i] = i < n_borders ? border * (even ? 0.5f : 1.0f) : HUGE_VALF;
    rule.table[i] = static_cast<std::int32_t>(random() % 256);
  }
  return rule;
}

std::vector<std::uint8_t> levels_at(Isa level, const Input& in, const LevelRule& rule) {
  std::vector<std::uint8_t> levels(in.v.size() * rule.width);
  lowtide::ops_at(level).encode_levels(in.v.data(), in.v.size(), in.scale.data(), in.offset.data(), rule,
                                       levels.data());
  return levels;
}

std::vector<std::uint64_t> bits_at(Isa level, const Input& in, const lowtide::BitRule& rule, std::size_t n_levels) {
  std::vector<std::uint64_t> row(lowtide::words_per_row(n_levels, 1), 0xdeadbeefu);
  lowtide::ops_at(level).encode_bits(in.v.data(), in.v.size(), in.scale.data(), in.offset.data(), rule, n_levels,
                                     row.data());
  return row;
}

const std::size_t sizes[] = {1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 130, 1000};

}  // namespace

LOWTIDE_TEST(encode_levels_gives_the_bytes_of_scalar_at_every_level) {
  for (std::size_t n : sizes) {
    const Input in = draw(n);
    for (unsigned width : {1u, 2u, 3u, 8u}) {
      for (unsigned k : {0u, 1u, 2u, 3u, 5u, 7u, 8u, 15u, 16u, 31u, 100u, 255u, 511u}) {
        const bool power = (k & (k + 1)) == 0;
        for (int kind = 0; kind < (power ? 3 : 2); ++kind) {
          const LevelRule rule = rule_of(k, kind == 0, kind == 2, width);
          const auto truth = levels_at(Isa::scalar, in, rule);
          for (Isa level : lowtide::check::runnable_levels())
            CHECK(lowtide::check::same_bits(truth, levels_at(level, in, rule)),
                  std::to_string(n) + " frequencies, borders " + std::to_string(k) + " at " + lowtide::isa_name(level));
        }
      }
    }
  }
}

LOWTIDE_TEST(encode_bits_is_encode_levels_packed_at_every_level) {
  for (std::size_t n : sizes) {
    const Input in = draw(n);
    for (unsigned width : {1u, 2u}) {
      for (bool flip : {false, true}) {
        LevelRule rule = rule_of(1, true, false, width);
        rule.table[0] = flip ? 0 : 1;
        rule.table[1] = flip ? 1 : 0;
        const lowtide::BitRule bit{width, flip, {rule.shifts[0], rule.shifts[1]}, rule.borders[0]};
        const auto levels = levels_at(Isa::scalar, in, rule);
        for (std::size_t n_levels = n * width; n_levels + width > n * width; --n_levels) {
          std::vector<std::uint64_t> truth(lowtide::words_per_row(n_levels, 1));
          lowtide::scalar::pack(levels.data(), n_levels, 1, truth.data());
          for (Isa level : lowtide::check::runnable_levels())
            CHECK(lowtide::check::same_bits(truth, bits_at(level, in, bit, n_levels)),
                  std::to_string(n_levels) + " levels at " + lowtide::isa_name(level));
        }
      }
    }
  }
}

LOWTIDE_TEST(encode_stochastic_gives_the_bytes_of_scalar_at_every_level) {
  const float shifts[] = {0.0f, -0.25f, 0.1f};
  for (std::size_t n : sizes) {
    const Input in = draw(n);
    for (unsigned width : {1u, 2u, 3u}) {
      for (unsigned bits : {1u, 2u, 3u, 4u, 8u}) {
        const lowtide::StochasticRule rule{width, shifts, bits, 0x123456789abcdef0u};
        std::vector<std::uint8_t> truth(n * width), found(n * width);
        for (Isa level : lowtide::check::runnable_levels()) {
          auto& out = level == Isa::scalar ? truth : found;
          lowtide::ops_at(level).encode_stochastic(in.v.data(), n, in.scale.data(), in.offset.data(), rule, 0xfffffff0u,
                                                   out.data());
          CHECK(level == Isa::scalar || lowtide::check::same_bits(truth, found), lowtide::isa_name(level));
        }
      }
    }
  }
}

LOWTIDE_TEST(features_turns_and_project_give_the_bits_of_scalar_at_every_level) {
  const float shifts[] = {0.0f, -0.25f, 0.1f};
  for (std::size_t n : sizes) {
    Input in = draw(n);
    for (float& v : in.v) v = std::isfinite(v) ? v : 1.0f;  // the sign of a NaN is no part of the contract
    const float *v = in.v.data(), *a = in.scale.data(), *b = in.offset.data();
    for (unsigned width : {1u, 2u, 3u}) {
      for (std::size_t m = n * width; m + width > n * width; --m) {
        std::vector<float> truth(m);
        lowtide::scalar::features(v, n, a, b, {width, shifts, 0.3f, false}, m, truth.data());
        // At a vector, where stores may go past the caches, and beside one, where they may not.
        const auto room = lowtide::make_buffer<float>(m + 1);
        for (Isa level : lowtide::check::runnable_levels()) {
          for (float* out : {room.get(), room.get() + 1}) {
            for (bool past_caches : {false, true}) {
              std::fill_n(out, m, -7.0f);
              lowtide::ops_at(level).features(v, n, a, b, {width, shifts, 0.3f, past_caches}, m, out);
              CHECK(lowtide::check::same_bits(truth, std::vector<float>(out, out + m)),
                    std::to_string(m) + " at " + lowtide::isa_name(level));
            }
          }
        }
      }
    }
    std::vector<float> phases(n), products(n), found(n);
    lowtide::scalar::turns(v, n, a, b, phases.data());
    lowtide::scalar::project(v, n, a, products.data());
    for (Isa level : lowtide::check::runnable_levels()) {
      lowtide::ops_at(level).turns(v, n, a, b, found.data());
      CHECK(lowtide::check::same_bits(phases, found), lowtide::isa_name(level));
      lowtide::ops_at(level).project(v, n, a, found.data());
      CHECK(lowtide::check::same_bits(products, found), lowtide::isa_name(level));
    }
  }
}
