// Projected values to levels and features: encode_*, threshold_*, features, turns, project.
#include <cmath>

#include "cases.hpp"
#include "inputs.hpp"
#include "lowtide/layout.hpp"

namespace lowtide::opcount {
namespace {

constexpr std::size_t n = 2048;  // projected values
constexpr float shifts[] = {0.0f, -0.25f};

struct Values {
  Array<float> v = numbers<float>(n, 1), scale = numbers<float>(n, 2), offset = numbers<float>(n, 3);
};

LevelRule level_rule(unsigned width, unsigned n_borders, bool even) {
  LevelRule rule{};
  rule.width = width;
  rule.even = even;
  rule.equal = !even;
  rule.n_borders = n_borders;
  while ((1u << rule.n_steps) <= n_borders) ++rule.n_steps;
  for (unsigned k = 0; k < width; ++k) rule.shifts[k] = shifts[k];
  for (unsigned i = 0; i <= max_borders; ++i) {
    const float border = static_cast<float>(i + 1) / static_cast<float>(n_borders + 1);
    rule.borders[i] = i < n_borders ? border * (even ? 0.5f : 1.0f) : HUGE_VALF;
    rule.table[i] = static_cast<std::int32_t>(i);
  }
  return rule;
}

void add_levels(Cases& cases, const char* name, unsigned width, unsigned n_borders, bool even) {
  cases.push_back({name, n * width, "level", [=](const Ops& ops) {
                     const auto rule = std::make_shared<LevelRule>(level_rule(width, n_borders, even));
                     const auto out = zeros<std::uint8_t>(n * width);
                     return [=, &ops, in = Values()] {
                       ops.encode_levels(in.v.get(), n, in.scale.get(), in.offset.get(), *rule, out.get());
                     };
                   }});
}

void add_bits(Cases& cases, const char* name, unsigned width) {
  cases.push_back({name, n * width, "level", [=](const Ops& ops) {
                     const BitRule rule{width, false, {shifts[0], shifts[1]}, 0.25f};
                     const auto row = zeros<std::uint64_t>(words_per_row(n * width, 1));
                     return [=, &ops, in = Values()] {
                       ops.encode_bits(in.v.get(), n, in.scale.get(), in.offset.get(), rule, n * width, row.get());
                     };
                   }});
}

void add_thresholds(Cases& cases, const char* name, unsigned n_borders) {
  cases.push_back({name, n, "level", [=](const Ops& ops) {
                     const auto borders = zeros<float>(n_borders);
                     for (unsigned i = 0; i < n_borders; ++i)
                       borders[i] = static_cast<float>(i + 1) / static_cast<float>(n_borders + 1);
                     const auto rule = std::make_shared<LineRule>(line_rule(borders.get(), n_borders));
                     const auto out = zeros<std::uint8_t>(n);
                     return [=, &ops, in = Values()] {
                       ops.threshold_levels(in.v.get(), n, in.scale.get(), 1.5f, *rule, out.get());
                     };
                   }});
}

void add_one_bit_threshold(Cases& cases) {
  cases.push_back({"threshold_bits", n, "level", [](const Ops& ops) {
                     const auto row = zeros<std::uint64_t>(words_per_row(n, 1));
                     return [=, &ops, in = Values()] {
                       ops.threshold_bits(in.v.get(), n, in.scale.get(), 1.5f, row.get());
                     };
                   }});
}

void add_stochastic(Cases& cases) {
  cases.push_back({"encode_stochastic 2 bits", 2 * n, "level", [](const Ops& ops) {
                     const StochasticRule rule{2, shifts, 2, 7};
                     const auto out = zeros<std::uint8_t>(2 * n);
                     return [=, &ops, in = Values()] {
                       ops.encode_stochastic(in.v.get(), n, in.scale.get(), in.offset.get(), rule, 0, out.get());
                     };
                   }});
}

void add_features(Cases& cases, const char* name, unsigned width) {
  cases.push_back({name, n * width, "feature", [=](const Ops& ops) {
                     const FeatureRule rule{width, shifts, 0.5f, false};
                     const auto out = zeros<float>(n * width);
                     return [=, &ops, in = Values()] {
                       ops.features(in.v.get(), n, in.scale.get(), in.offset.get(), rule, n * width, out.get());
                     };
                   }});
}

void add_phases(Cases& cases) {
  cases.push_back({"turns", n, "phase", [](const Ops& ops) {
                     const auto out = zeros<float>(n);
                     return [=, &ops, in = Values()] {
                       ops.turns(in.v.get(), n, in.scale.get(), in.offset.get(), out.get());
                     };
                   }});
  cases.push_back({"project", n, "value", [](const Ops& ops) {
                     const auto out = zeros<float>(n);
                     return [=, &ops, in = Values()] { ops.project(in.v.get(), n, in.scale.get(), out.get()); };
                   }});
}

}  // namespace

void add_quantizers(Cases& cases) {
  add_bits(cases, "encode_bits cosine", 1);
  add_bits(cases, "encode_bits cos_sin", 2);
  add_levels(cases, "encode_levels 2 bits", 2, 3, true);
  add_levels(cases, "encode_levels 4 bits", 2, 15, true);
  add_levels(cases, "encode_levels 3-bit phase", 1, 7, false);
  add_stochastic(cases);
  add_one_bit_threshold(cases);
  add_thresholds(cases, "threshold_levels 2 bits", 1);
  add_thresholds(cases, "threshold_levels 4 bits", 7);
  add_thresholds(cases, "threshold_levels 8 bits", 127);
  add_features(cases, "features cosine", 1);
  add_features(cases, "features cos_sin", 2);
  add_phases(cases);
}

}  // namespace lowtide::opcount
