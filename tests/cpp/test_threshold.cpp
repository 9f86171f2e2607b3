#include <cmath>
#include <limits>
#include <random>

#include "check.hpp"
#include "lowtide/layout.hpp"
#include "lowtide/ops.hpp"

namespace {

using lowtide::Isa;
using lowtide::LineRule;

struct Input {
  std::vector<float> v, scale;
};

// Ordinary projections, and at the front those where comparing is delicate.
Input draw(std::size_t n) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const std::vector<float> hard = {0.0f, -0.0f, 1e-40f, -1e-40f, 0.5f, -0.5f, inf, -inf, std::nanf("")};
  std::mt19937 random(static_cast<unsigned>(n));
  std::uniform_real_distribution<float> uniform(-3.0f, 3.0f);
  Input input{std::vector<float>(n), std::vector<float>(n)};
  for (std::size_t j = 0; j < n; ++j) {
    const bool is_hard = j < hard.size();
    input.v[j] = is_hard ? hard[j] : uniform(random);
    input.scale[j] = is_hard ? 1.0f : std::fabs(uniform(random));
  }
  return input;
}

// Equal steps, or steps that grow from tiny ones, so that many borders share a cell.
LineRule rule_of(unsigned n_steps, bool uneven) {
  const unsigned n = (1u << n_steps) - 1;
  std::vector<float> borders(n);
  for (unsigned i = 0; i < n; ++i) {
    const float share = static_cast<float>(i + 1) / static_cast<float>(n + 1);
    borders[i] = 2.0f * (uneven ? share * share * share : share);
  }
  return lowtide::line_rule(borders.data(), n);
}

std::vector<std::uint8_t> levels_at(Isa level, const Input& in, float factor, const LineRule& rule) {
  std::vector<std::uint8_t> levels(in.v.size());
  lowtide::ops_at(level).threshold_levels(in.v.data(), in.v.size(), in.scale.data(), factor, rule, levels.data());
  return levels;
}

const std::size_t sizes[] = {1, 2, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 130, 1000};

}  // namespace

LOWTIDE_TEST(threshold_levels_gives_the_bytes_of_scalar_at_every_level) {
  for (std::size_t n : sizes) {
    const Input in = draw(n);
    for (unsigned kind = 0; kind < 16; ++kind) {
      const unsigned n_steps = kind / 2;
      const LineRule rule = rule_of(n_steps, kind % 2 == 1);
      for (float factor : {0.0f, 0.7f, 1.0f}) {
        const auto truth = levels_at(Isa::scalar, in, factor, rule);
        for (Isa level : lowtide::check::runnable_levels())
          CHECK(
              lowtide::check::same_bits(truth, levels_at(level, in, factor, rule)),
              std::to_string(n) + " projections, steps " + std::to_string(n_steps) + " at " + lowtide::isa_name(level));
      }
    }
  }
}

LOWTIDE_TEST(threshold_bits_is_threshold_levels_packed_at_every_level) {
  for (std::size_t n : sizes) {
    const Input in = draw(n);
    const auto levels = levels_at(Isa::scalar, in, 0.7f, rule_of(0, false));
    std::vector<std::uint64_t> truth(lowtide::words_per_row(n, 1));
    lowtide::scalar::pack(levels.data(), n, 1, truth.data());
    for (Isa level : lowtide::check::runnable_levels()) {
      std::vector<std::uint64_t> row(truth.size(), 0xdeadbeefu);
      lowtide::ops_at(level).threshold_bits(in.v.data(), n, in.scale.data(), 0.7f, row.data());
      CHECK(lowtide::check::same_bits(truth, row), std::to_string(n) + " at " + lowtide::isa_name(level));
    }
  }
}

LOWTIDE_TEST(norm_gives_the_bits_of_scalar_at_every_level) {
  for (std::size_t n : sizes) {
    const Input in = draw(n);
    const float* x = in.scale.data();
    const float truth = lowtide::ops_at(Isa::scalar).norm(x, n);
    for (Isa level : lowtide::check::runnable_levels())
      CHECK(lowtide::ops_at(level).norm(x, n) == truth, std::to_string(n) + " at " + lowtide::isa_name(level));
  }
}
