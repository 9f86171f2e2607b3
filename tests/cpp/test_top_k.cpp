// The scan of packed rows at every runnable level, and the search on top of it, against plain loops.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "lowtide/best.hpp"
#include "lowtide/buffer.hpp"
#include "lowtide/code_top_k.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/scan_queries.hpp"

namespace lowtide {
namespace {

std::vector<std::uint64_t> random_words(std::size_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> words(n);
  for (auto& word : words) word = random();
  return words;
}

unsigned byte_of(const std::vector<std::uint64_t>& rows, std::size_t row_words, std::size_t r, std::size_t b) {
  return rows[r * row_words + b / 8] >> (8 * (b % 8)) & 255;
}

std::string where(Isa level, std::size_t a, std::size_t b) {
  return std::string(isa_name(level)) + " " + std::to_string(a) + " " + std::to_string(b);
}

Buffer<std::uint8_t> tile_of(Isa level, const std::vector<std::uint64_t>& rows, std::size_t n_rows,
                             std::size_t row_words) {
  auto tile = make_buffer<std::uint8_t>(kScanRows * 8 * row_words);
  ops_at(level).code_scan.interleave(rows.data(), n_rows, row_words, tile.get());
  return tile;
}

// Entries as large as the overflow limits allow: the runs of some rows reach 255.
std::vector<std::uint8_t> draw_tables(std::size_t n_bytes, std::size_t n_queries, std::size_t run, unsigned seed) {
  std::mt19937 random(seed);
  const unsigned most = run == kScanFine ? 63 : 7;
  std::vector<std::uint8_t> tables(2 * n_bytes * n_queries * 16);
  for (auto& entry : tables) entry = static_cast<std::uint8_t>(random() % 3 == 0 ? most : random() % (most + 1));
  return tables;
}

}  // namespace

LOWTIDE_TEST(interleave_is_a_transpose_of_bytes) {
  for (Isa level : check::runnable_levels())
    for (std::size_t row_words : {1, 2, 3, 16, 17})
      for (std::size_t n_rows : {1, 15, 33, 64}) {
        const auto rows = random_words(n_rows * row_words, 1);
        const auto tile = tile_of(level, rows, n_rows, row_words);
        bool same = true;
        for (std::size_t b = 0; b < 8 * row_words; ++b)
          for (std::size_t r = 0; r < kScanRows; ++r)
            same = same && tile[b * kScanRows + r] == byte_of(rows, row_words, std::min(r, n_rows - 1), b);
        CHECK(same, where(level, row_words, n_rows));
      }
}

LOWTIDE_TEST(scan_sums_and_masks_are_exact) {
  for (Isa level : check::runnable_levels())
    for (std::size_t run : {kScanFine, kScanCounts})
      for (std::size_t n_bytes : {1, 2, 7, 16, 33, 512})
        for (std::size_t n_queries : {1, 2, 4, 8}) {
          const std::size_t row_words = (n_bytes + 7) / 8;
          const auto rows = random_words(kScanRows * row_words, 2);
          const auto tile = tile_of(level, rows, kScanRows, row_words);
          const auto tables = draw_tables(n_bytes, n_queries, run, 3);
          std::vector<std::uint16_t> truth(n_queries * kScanRows), limits(n_queries), sums(n_queries * kScanRows, 7);
          for (std::size_t q = 0; q < n_queries; ++q)
            for (std::size_t r = 0; r < kScanRows; ++r)
              for (std::size_t g = 0; g < 2 * n_bytes; ++g) {
                const unsigned nibble = byte_of(rows, row_words, r, g / 2) >> (4 * (g % 2)) & 15;
                truth[q * kScanRows + r] += tables[(g * n_queries + q) * 16 + nibble];
              }
          // Limits that all, one, and none of the rows reach.
          for (std::size_t q = 0; q < n_queries; ++q) {
            const auto largest = *std::max_element(truth.data() + q * kScanRows, truth.data() + (q + 1) * kScanRows);
            limits[q] = static_cast<std::uint16_t>(q % 3 == 0 ? largest : q % 3 == 1 ? 0 : largest + 1);
          }
          std::vector<std::uint64_t> masks(n_queries);
          ops_at(level).code_scan.scan(tile.get(), n_bytes, tables.data(), n_queries, run, limits.data(), masks.data(),
                                       sums.data());
          bool same = true;
          for (std::size_t q = 0; q < n_queries; ++q)
            for (std::size_t r = 0; r < kScanRows; ++r) {
              const std::uint16_t sum = truth[q * kScanRows + r];
              same = same && (masks[q] >> r & 1) == (sum >= limits[q]);
              same = same && sums[q * kScanRows + r] == (masks[q] == 0 ? 7 : sum);
            }
          CHECK(same, where(level, n_bytes, n_queries));
        }
}

LOWTIDE_TEST(row_scan_sums_are_exact) {
  for (Isa level : check::runnable_levels())
    for (unsigned bits : {1, 2, 4})
      for (std::size_t row_words : {1, 3, 4, 5, 7, 8, 9, 12, 13, 128})
        for (std::size_t n_rows : {1, 3, 17, 64}) {
          // Unaligned: the rows of a view begin at any word.
          const auto words = random_words(n_rows * row_words + 1, 6);
          const std::vector<std::uint64_t> rows(words.begin() + 1, words.end());
          std::mt19937 random(7);
          const std::size_t places = 4 / bits, stride = row_stride(row_words);
          std::vector<std::uint8_t> tables(16 * places);
          auto weights = make_buffer<std::int8_t>(2 * places * stride);
          for (auto& entry : tables) entry = static_cast<std::uint8_t>(random() % 3 == 0 ? 127 : random() % 128);
          for (std::size_t i = 0; i < 2 * places * stride; ++i) {
            const int weight = random() % 3 == 0 ? 127 : static_cast<int>(random() % 128);
            weights[i] = static_cast<std::int8_t>(i % stride >= 8 * row_words ? 0 : random() % 2 ? weight : -weight);
          }
          std::vector<std::int32_t> sums(kRowScan);
          ops_at(level).row_scan(words.data() + 1, n_rows, row_words, bits, tables.data(), weights.get(), sums.data());
          bool same = true;
          for (std::size_t r = 0; r < n_rows; ++r) {
            std::int32_t sum = 0;
            for (std::size_t b = 0; b < 8 * row_words; ++b)
              for (std::size_t h = 0; h < 2; ++h)
                for (std::size_t p = 0; p < places; ++p)
                  sum += tables[16 * p + (byte_of(rows, row_words, r, b) >> (4 * h) & 15)] *
                         weights[(h * places + p) * stride + b];
            same = same && sums[r] == sum;
          }
          CHECK(same, where(level, bits * 1000 + row_words, n_rows));
        }
}

LOWTIDE_TEST(query_groups_cover_every_query_once) {
  for (std::size_t n = 0; n < 40; ++n) {
    std::size_t next = 0;
    bool good = true;
    for (const QueryGroup& group : query_groups(n)) {
      good =
          good && group.first == next && (group.count == 1 || group.count == 2 || group.count == 4 || group.count == 8);
      next += group.count;
    }
    CHECK(good && next == n, std::to_string(n));
  }
}

LOWTIDE_TEST(best_keeps_the_highest_and_of_equals_the_lowest_index) {
  Best best(3);
  for (const Scored& row : {Scored{1, 9}, Scored{2, 8}, Scored{1, 3}, Scored{1, 7}, Scored{0, 0}, Scored{1, 1}})
    best.push(row);
  std::vector<std::int64_t> found;
  for (const Scored& row : best.sorted()) found.push_back(row.index);
  CHECK(found == (std::vector<std::int64_t>{8, 1, 3}));
}

LOWTIDE_TEST(byte_tables_bound_every_score) {
  // A row whose score is above `worst` must pass the limit that `worst` sets: with worst just below its own score
  // every row is a test.
  constexpr std::size_t n_rows = 200, n_levels = 130, words = 3;
  auto rows = random_words(n_rows * words, 4);
  for (std::size_t i = 0; i < n_rows; ++i) rows[i * words + 2] &= 3;
  const float book[] = {-0.25f, 1.5f};
  const CodeMatrix codes{rows.data(), n_rows, n_levels, 1, book, 1};
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  std::vector<double> Q(3 * n_levels);
  for (std::size_t j = 0; j < n_levels; ++j) {
    Q[j] = normal(random);
    Q[n_levels + j] = j == 70 ? 1e6 : normal(random);
    Q[2 * n_levels + j] = 1e-3 * normal(random) * normal(random) * normal(random);
  }
  const FloatQueries queries(codes, Q.data(), 3, 1.0);
  for (const QueryGroup& group : queries.bytes().groups())
    for (std::size_t q = 0; q < group.count; ++q)
      for (std::size_t g = 0; g < 2 * queries.n_bytes(); g += 2 * kScanFine) {
        unsigned most = 0;
        for (std::size_t i = g; i < std::min(g + 2 * kScanFine, 2 * queries.n_bytes()); ++i) {
          const std::uint8_t* entries = queries.bytes().of(group) + (i * group.count + q) * 16;
          most += *std::max_element(entries, entries + 16);
        }
        CHECK(most <= 255, std::to_string(g));
      }
  for (const QueryGroup& group : queries.bytes().groups())
    for (std::size_t q = group.first; q < group.first + group.count; ++q)
      for (std::size_t i = 0; i < n_rows; ++i) {
        unsigned sum = 0;
        for (std::size_t g = 0; g < 2 * queries.n_bytes(); ++g)
          sum += queries.bytes().of(
              group)[(g * group.count + q - group.first) * 16 + (byte_of(rows, words, i, g / 2) >> (4 * (g % 2)) & 15)];
        const auto score = static_cast<float>(queries.product(q, rows.data() + i * words, 0));
        CHECK(sum >= queries.limit(q, std::nextafter(score, -1e30f)), std::to_string(q));
      }
}

LOWTIDE_TEST(row_sums_bound_every_score) {
  constexpr std::size_t n_rows = 200, n_levels = 130, words = 3;
  auto rows = random_words(n_rows * words, 8);
  for (std::size_t i = 0; i < n_rows; ++i) rows[i * words + 2] &= 3;
  std::mt19937 random(9);
  std::normal_distribution<double> normal;
  std::vector<double> Q(4 * n_levels);
  for (std::size_t j = 0; j < n_levels; ++j) {
    Q[j] = normal(random);
    Q[n_levels + j] = j == 70 ? 1e6 : normal(random);
    Q[2 * n_levels + j] = 1e-3 * normal(random) * normal(random) * normal(random);
    Q[3 * n_levels + j] = 0;
  }
  const float books[][2] = {{-0.25f, 1.5f}, {1.0f, 1.0f}, {0.7f, -0.3f}};
  for (const auto& book : books)
    for (double sign : {1.0, -1.0}) {
      const CodeMatrix codes{rows.data(), n_rows, n_levels, 1, book, 1};
      const RowQueries queries(codes, Q.data(), 4, sign);
      for (std::size_t q = 0; q < 4; ++q)
        for (std::size_t i = 0; i < n_rows; ++i) {
          std::int32_t sum = 0;
          scalar::row_scan(rows.data() + i * words, 1, words, 1, queries.tables(), queries.weights(q), &sum);
          const double product = queries.product(q, rows.data() + i * words);
          CHECK(queries.bound(q, sum) >= product, std::to_string(q));
          const float line = queries.float_offset(q) + queries.float_step(q) * static_cast<float>(sum);
          CHECK(line >= queries.bound(q, sum), std::to_string(q));
        }
    }
}

}  // namespace lowtide
