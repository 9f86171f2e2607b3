// The ternary projection and products of trits: every runnable level against plain loops, on buffers of exactly the
// size that the contracts name, so that the sanitizers see any step outside.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "lowtide/buffer.hpp"
#include "lowtide/layout.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/ternary.hpp"
#include "lowtide/trit_products.hpp"

namespace lowtide {
namespace {

template <typename T>
Buffer<T> aligned(const std::vector<T>& values) {
  auto buffer = make_buffer<T>(values.size());
  std::copy(values.begin(), values.end(), buffer.get());
  return buffer;
}

// Pluses and minuses of n_outputs outputs over `chunk` features, output 1 without any.
struct Lists {
  std::vector<std::uint16_t> lists;
  std::vector<std::uint32_t> starts{0};
};

Lists draw_lists(std::size_t n_lists, std::size_t chunk, std::mt19937& random) {
  Lists drawn;
  for (std::size_t i = 0; i < n_lists; ++i) {
    const std::size_t size = i / 2 == 1 ? 0 : random() % (chunk + 1);
    for (std::size_t k = 0; k < size; ++k) drawn.lists.push_back(static_cast<std::uint16_t>(random() % chunk));
    drawn.starts.push_back(static_cast<std::uint32_t>(drawn.lists.size()));
  }
  return drawn;
}

template <typename T>
void compare_with_scalar(const TernaryOp<T>& truth, const TernaryOp<T>& op, Isa level) {
  std::mt19937 random(1);
  for (std::size_t chunk : {1, 5, 40})
    for (std::size_t n_outputs : {1, 2, 9, 31, 32}) {
      const Lists drawn = draw_lists(2 * n_outputs, chunk, random);
      std::vector<T> values(chunk * kTernaryRows), start(n_outputs * kTernaryRows);
      for (T& v : values) v = static_cast<T>(random() % 200) - 100;
      for (T& v : start) v = static_cast<T>(random() % 200) - 100;
      const auto tile = aligned(values), wanted = aligned(start), found = aligned(start);
      for (bool first : {true, false}) {
        truth.sums(tile.get(), drawn.lists.data(), drawn.starts.data(), n_outputs, first, wanted.get());
        op.sums(tile.get(), drawn.lists.data(), drawn.starts.data(), n_outputs, first, found.get());
        CHECK(std::memcmp(wanted.get(), found.get(), start.size() * sizeof(T)) == 0, isa_name(level));
      }
      std::vector<T> upper(n_outputs), lower(n_outputs);
      for (std::size_t j = 0; j < n_outputs; ++j) {
        upper[j] = wanted.get()[j * kTernaryRows];
        lower[j] = wanted.get()[j * kTernaryRows + 1];
      }
      for (bool even : {true, false}) {
        std::vector<std::uint64_t> words(kTernaryRows), others(kTernaryRows, ~std::uint64_t{0});
        truth.trits(wanted.get(), n_outputs, upper.data(), lower.data(), even, words.data());
        op.trits(wanted.get(), n_outputs, upper.data(), lower.data(), even, others.data());
        CHECK(check::same_bits(words, others), isa_name(level));
      }
    }
}

std::vector<std::uint64_t> draw_rows(std::size_t n_rows, std::size_t n_levels, std::vector<int>& trits) {
  std::mt19937 random(static_cast<unsigned>(n_rows + n_levels));
  const std::size_t words = words_per_row(n_levels, 2);
  std::vector<std::uint64_t> rows(n_rows * words);
  trits.assign(n_rows * n_levels, 0);
  for (std::size_t i = 0; i < n_rows; ++i) {
    std::vector<std::uint8_t> levels(n_levels);
    for (std::size_t j = 0; j < n_levels; ++j) {
      levels[j] = static_cast<std::uint8_t>(random() % 4);
      trits[i * n_levels + j] = levels[j] == 1 ? 1 : levels[j] == 2 ? -1 : 0;
    }
    scalar::pack(levels.data(), n_levels, 2, rows.data() + i * words);
  }
  return rows;
}

}  // namespace

LOWTIDE_TEST(ternary_sums_and_trits_agree_with_scalar) {
  for (Isa level : check::runnable_levels()) {
    compare_with_scalar(scalar::ternary.i16, ops_at(level).ternary.i16, level);
    compare_with_scalar(scalar::ternary.i32, ops_at(level).ternary.i32, level);
    compare_with_scalar(scalar::ternary.f32, ops_at(level).ternary.f32, level);
  }
}

LOWTIDE_TEST(ternary_encode_sums_every_chunk) {
  std::mt19937 random(2);
  for (std::size_t n : {0, 1, 64, 130})
    for (std::size_t n_outputs : {1, 33, 200}) {
      const std::size_t n_features = 25, chunk = 10;  // the last chunk is half empty
      Lists drawn = draw_lists(2 * n_outputs * 3, 5, random);
      std::vector<std::uint8_t> x(n * n_features);
      for (auto& v : x) v = static_cast<std::uint8_t>(random());
      const std::vector<std::int32_t> thresholds(n_outputs, 17);
      std::vector<std::uint64_t> out(n * words_per_row(n_outputs, 2), ~std::uint64_t{0});
      const TernaryLists lists{drawn.lists.data(), drawn.starts.data(), n_features, n_outputs, chunk};
      const TernaryRows<std::uint8_t> rows{x.data(), static_cast<std::ptrdiff_t>(n_features), n};
      ternary_encode(rows, lists, thresholds.data(), thresholds.data(), false, out.data());
      bool same = true;
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n_outputs; ++j) {
          int sum = 0;
          for (std::size_t c = 0; c < 3; ++c)
            for (int s = 0; s < 2; ++s) {
              const std::size_t list = 2 * (c * n_outputs + j) + static_cast<std::size_t>(s);
              for (std::size_t k = drawn.starts[list]; k < drawn.starts[list + 1]; ++k)
                sum += (s == 0 ? 1 : -1) * x[i * n_features + c * chunk + drawn.lists[k]];
            }
          const std::uint64_t word = out[i * words_per_row(n_outputs, 2) + j / 32];
          same = same && (word >> (2 * (j % 32)) & 3) == (sum > 17 ? 1u : sum < 17 ? 2u : 0u);
        }
      CHECK(same, std::to_string(n) + " rows");
    }
}

LOWTIDE_TEST(trit_products_are_sums_of_products) {
  for (Isa level : check::runnable_levels())
    for (std::size_t n_rows : {1, 2, 65, 600})
      for (std::size_t n_levels : {1, 64, 130}) {
        std::vector<int> t;
        const auto rows = draw_rows(n_rows, n_levels, t);
        const TritGramOp& op = ops_at(level).trit_gram;
        const std::size_t n_tiles = gram_tiles(n_levels);
        const auto operand = make_buffer<std::uint64_t>(op.operand_bytes(n_levels, n_rows) / 8);
        op.prepare(rows.data(), n_rows, n_levels, 0, n_tiles, operand.get());
        std::vector<std::int32_t> sums(kGramTile * kGramTile, 0);
        op.tile(operand.get(), n_rows, 0, n_tiles - 1, sums.data());
        bool same = true;
        for (std::size_t j = 0; j < kGramTile; ++j)
          for (std::size_t k = 0; k < kGramTile; ++k) {
            const std::size_t right = (n_tiles - 1) * kGramTile + k;
            int wanted = 0;
            for (std::size_t i = 0; i < n_rows && j < n_levels && right < n_levels; ++i)
              wanted += t[i * n_levels + j] * t[i * n_levels + right];
            same = same && sums[j * kGramTile + k] == wanted;
          }
        CHECK(same, isa_name(level));
      }
}

}  // namespace lowtide
