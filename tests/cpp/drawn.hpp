// Codes that tests draw, and their values by plain loops.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "lowtide/code_products.hpp"
#include "lowtide/layout.hpp"
#include "lowtide/ops.hpp"

namespace lowtide {

using Levels = std::vector<std::uint8_t>;

struct Drawn {
  std::size_t n_rows, n_levels;
  unsigned bits;
  std::size_t width;
  Levels levels;
  std::vector<std::uint64_t> rows;
  std::vector<float> book;

  CodeMatrix matrix() const { return {rows.data(), n_rows, n_levels, bits, book.data(), width}; }
  double value(std::size_t i, std::size_t f) const {
    return book[levels[i * n_levels + f / width] * width + f % width];
  }
};

inline Drawn draw(std::size_t n_rows, std::size_t n_levels, unsigned bits, std::size_t width, unsigned seed = 0) {
  std::mt19937 random(seed + 1);
  Drawn d{n_rows, n_levels, bits, width, Levels(n_rows * n_levels), {}, std::vector<float>(width << bits)};
  for (auto& level : d.levels) level = static_cast<std::uint8_t>(random() & ((1u << bits) - 1));
  for (auto& v : d.book) v = static_cast<float>(static_cast<int>(random() % 9) - 4);
  const std::size_t words = words_per_row(n_levels, bits);
  d.rows.resize(n_rows * words);
  for (std::size_t i = 0; i < n_rows; ++i)
    scalar::pack(d.levels.data() + i * n_levels, n_levels, bits, d.rows.data() + i * words);
  return d;
}

inline std::string where(Isa level, unsigned bits, std::size_t n_levels) {
  return std::string(isa_name(level)) + " bits " + std::to_string(bits) + " levels " + std::to_string(n_levels);
}

inline const std::vector<std::size_t> kWidths = {1, 7, 8, 63, 64, 65, 130, 1000};
inline const std::vector<unsigned> kBits = {1, 2, 3, 4, 8};

}  // namespace lowtide
