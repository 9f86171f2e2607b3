#include "lowtide/scan_queries.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "lowtide/contingency.hpp"
#include "lowtide/layout.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/parallel.hpp"

namespace lowtide {
namespace {

constexpr std::size_t kLargestSum = 65535;
// Four rounded table entries may add up to two steps more than their exact sum does.
constexpr double kStepsOfRun = 253.0, kSpare = 2.0;
// Runs wider than this many times the middle one are cut.
constexpr double kWidest = 4.0;
// The same of single weights, in bytes of row_scan.
constexpr double kLargest = 6.0;
constexpr int kMostByte = 127;
// Up to so many queries a bit, rows are multiplied as they lie: more share what putting their bytes side by side costs.
// Measured at AVX-512, 384 columns: 4 queries of 2 bits take 27 ns a row by products and 29 by look-ups, 6 take 37 and 34.
// At AVX2, whose products of bytes take more instructions, 2 of 2 bits take 36 ns by products and 41 by look-ups, 4 take 64
// and 55.
constexpr std::size_t kQueriesOfBit = 2, kQueriesOfBitAvx2 = 1;

// values[f][v]: what the f-th feature of a nibble is when the nibble is v.
std::vector<double> nibble_values(const CodeMatrix& codes) {
  const unsigned per = 4 / codes.bits, mask = (1u << codes.bits) - 1;
  std::vector<double> values(per * codes.width * 16);
  for (unsigned l = 0; l < per; ++l)
    for (std::size_t p = 0; p < codes.width; ++p)
      for (unsigned v = 0; v < 16; ++v)
        values[(l * codes.width + p) * 16 + v] = codes.book[(v >> (l * codes.bits) & mask) * codes.width + p];
  return values;
}

constexpr std::size_t kRun = 2 * kScanFine;  // nibbles that share a byte sum

// Step of the bytes from the ranges of the nibbles' tables, largest less least entry: the widest run of nibbles takes
// all the steps of a run, unless it is far wider than the others, which would then be left with few steps.
double step_of(const std::vector<double>& ranges, double steps_of_run) {
  std::vector<double> runs;
  for (std::size_t g = 0; g < ranges.size(); g += kRun) {
    double run = 0;
    for (std::size_t i = g; i < std::min(g + kRun, ranges.size()); ++i) run += ranges[i];
    if (run > 0) runs.push_back(run);
  }
  if (runs.empty()) return 1.0;
  std::sort(runs.begin(), runs.end());
  const double step = std::min(runs.back(), kWidest * runs[runs.size() / 2]) / steps_of_run;
  return step > std::numeric_limits<double>::min() ? step : 1.0;
}

// Cuts the widest ranges of each run until it fits a byte.
void cut_ranges(std::vector<double>& ranges, double step, double steps_of_run) {
  for (std::size_t g = 0; g < ranges.size(); g += kRun) {
    const std::size_t end = std::min(g + kRun, ranges.size());
    std::vector<double> order(ranges.begin() + static_cast<std::ptrdiff_t>(g),
                              ranges.begin() + static_cast<std::ptrdiff_t>(end));
    std::sort(order.begin(), order.end());
    // Ranges in rising order are kept whole while an equal share of what is left can hold them.
    double left = steps_of_run * step, share = left / static_cast<double>(order.size());
    for (std::size_t i = 0; i < order.size() && order[i] <= share; ++i) {
      left -= order[i];
      share = i + 1 < order.size() ? left / static_cast<double>(order.size() - i - 1) : order[i];
    }
    for (std::size_t i = g; i < end; ++i) ranges[i] = std::min(ranges[i], share);
  }
}

// A codebook of width 1 in whole steps above its least value.
struct ByteBook {
  double base, step = 1;
  std::uint8_t entries[16] = {};
};

// Entries up to 127, of the step that leaves the least error: none where values are few whole numbers times a step.
ByteBook byte_book(const float* book, std::size_t n_values) {
  const auto [least, largest] = std::minmax_element(book, book + n_values);
  ByteBook best{*least};
  double range = double{*largest} - *least, least_error = std::numeric_limits<double>::infinity();
  for (int most = 1; most <= kMostByte && range > 0; ++most) {
    const double step = range / most;
    double error = 0;
    for (std::size_t v = 0; v < n_values; ++v) {
      const double steps = (book[v] - best.base) / step;
      error = std::max(error, std::abs(steps - std::round(steps)) * step);
    }
    if (error >= least_error) continue;
    least_error = error;
    best.step = step;
  }
  for (std::size_t v = 0; v < n_values && range > 0; ++v)
    best.entries[v] = static_cast<std::uint8_t>(std::round((book[v] - best.base) / best.step));
  return best;
}

// Step of weights in bytes: the largest takes all steps, unless it is far larger than the others.
double weight_step(const double* weights, std::size_t n) {
  std::vector<double> sizes;
  for (std::size_t j = 0; j < n; ++j)
    if (weights[j] != 0) sizes.push_back(std::abs(weights[j]));
  if (sizes.empty()) return 1.0;
  std::sort(sizes.begin(), sizes.end());
  const double step = std::min(sizes.back(), kLargest * sizes[sizes.size() / 2]) / kMostByte;
  return step > std::numeric_limits<double>::min() ? step : 1.0;
}

}  // namespace

std::vector<QueryGroup> query_groups(std::size_t n_queries) {
  std::vector<QueryGroup> groups;
  std::size_t first = 0;
  for (std::size_t count = kScanQueries; count > 0; count /= 2)
    for (; n_queries - first >= count; first += count) groups.push_back({first, count});
  return groups;
}

ByteTables::ByteTables(std::size_t n_queries, std::size_t n_nibbles)
    : groups_(query_groups(n_queries)),
      n_nibbles_(n_nibbles),
      data_(make_buffer<std::uint8_t>(n_queries * n_nibbles * 16)) {}

void ByteTables::take(const ByteTables& from, const std::int32_t* queries, std::size_t n_queries) {
  groups_ = query_groups(n_queries);
  for (const QueryGroup& group : groups_)
    for (std::size_t q = group.first; q < group.first + group.count; ++q) {
      const auto other = static_cast<std::size_t>(queries[q]);
      const QueryGroup& its = *std::partition_point(from.groups_.begin(), from.groups_.end(), [other](const auto& one) {
        return one.first + one.count <= other;
      });
      const std::uint8_t* source = from.of(its) + 16 * (other - its.first);
      for (std::size_t g = 0; g < n_nibbles_; ++g) std::memcpy(entries(group, q, g), source + g * 16 * its.count, 16);
    }
}

FloatQueries::FloatQueries(const CodeMatrix& codes, const double* Q, std::size_t n_queries, double sign)
    : row_words_(words_per_row(codes.n_levels, codes.bits)),
      n_bytes_((codes.n_levels * codes.bits + 7) / 8),
      bytes_(n_queries, 2 * n_bytes_),
      tables_(make_buffer<double>(n_queries * row_words_ * 256)),
      steps_(n_queries) {
  const std::size_t n_features = codes.n_levels * codes.width;
  const auto values = nibble_values(codes);
  parallel_for(bytes_.groups().size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const QueryGroup& group = bytes_.groups()[i];
      for (std::size_t q = group.first; q < group.first + group.count; ++q)
        fill(group, q, values, Q + q * n_features, n_features, sign);
    }
  });
}

std::size_t FloatQueries::run() const { return kScanFine; }

void FloatQueries::fill(const QueryGroup& group, std::size_t q, const std::vector<double>& values,
                        const double* weights, std::size_t n_features, double sign) {
  const std::size_t n_values = values.size() / 16, n_nibbles = 2 * n_bytes_;
  double* tables = tables_.get() + q * row_words_ * 256;
  std::fill(tables, tables + row_words_ * 256, 0.0);
  for (std::size_t f = 0, g = 0; f < n_features; ++g)
    for (std::size_t i = 0; i < n_values && f < n_features; ++i, ++f) {
      const double weight = sign * weights[f];
      for (std::size_t v = 0; v < 16; ++v) tables[g * 16 + v] += values[i * 16 + v] * weight;
    }
  std::vector<double> ranges(n_nibbles), tops(n_nibbles);
  double offset = 0, sizes = 0;
  for (std::size_t g = 0; g < n_nibbles; ++g) {
    const auto [least, largest] = std::minmax_element(tables + g * 16, tables + g * 16 + 16);
    ranges[g] = *largest - *least;
    tops[g] = *largest;
    sizes += std::max(std::abs(*least), std::abs(*largest));
  }
  // The sums of all runs share 16 bits.
  const double of_all =
      std::floor(static_cast<double>(kLargestSum) / static_cast<double>((n_nibbles + kRun - 1) / kRun));
  const double steps_of_run = std::min(kStepsOfRun, of_all - kSpare);
  const double step = step_of(ranges, steps_of_run), per_step = 1 / step;
  cut_ranges(ranges, step, steps_of_run);
  for (std::size_t g = 0; g < n_nibbles; ++g) {
    const double* table = tables + g * 16;
    const double base = tops[g] - ranges[g];
    std::uint8_t* bytes = bytes_.entries(group, q, g);
    double error = -std::numeric_limits<double>::infinity();
    for (std::size_t v = 0; v < 16; ++v) {
      const auto steps = static_cast<std::uint8_t>(std::max(0.0, table[v] - base) * per_step + 0.5);
      bytes[v] = steps;
      error = std::max(error, table[v] - base - step * steps);
    }
    offset += base + error;
  }
  // A term passes at most n_nibbles sums here and in the score, and a few more roundings; sizes bounds them all.
  offset += 4 * static_cast<double>(n_nibbles + 8) * std::numeric_limits<double>::epsilon() * sizes;
  steps_[q] = {offset, step};
}

std::uint16_t FloatQueries::limit(std::size_t q, double worst) const {
  const double steps = (worst - steps_[q].offset) / steps_[q].step;
  if (!(steps > 1)) return 0;
  // One step to spare for the rounding of this line.
  return static_cast<std::uint16_t>(std::min(steps - 1, static_cast<double>(kLargestSum)));
}

double FloatQueries::product(std::size_t q, const std::uint64_t* row, std::uint16_t /*sum*/) const {
  // Four chains of additions in a fixed order: the sum depends on the row and the query alone.
  const double* table = tables_.get() + q * row_words_ * 256;
  double total[4] = {};
  for (std::size_t w = 0; w < row_words_; ++w) {
    std::uint64_t word = row[w];
    for (int s = 0; s < 4; ++s, word >>= 16, table += 64)
      for (std::size_t i = 0; i < 4; ++i) total[i] += table[16 * i + (word >> (4 * i) & 15)];
  }
  return (total[0] + total[1]) + (total[2] + total[3]);
}

std::size_t RowQueries::most(const CodeMatrix& codes, const double* Q, std::size_t n_queries) {
  if (codes.width != 1 || !is_fast_at(active_isa(), "row_scan").value()) return 0;
  double of_book = 0;
  for (std::size_t v = 0; v < std::size_t{1} << codes.bits; ++v)
    of_book = std::max(of_book, std::abs(double{codes.book[v]}));
  for (std::size_t q = 0; q < n_queries; ++q) {
    double sizes = 0;
    for (std::size_t j = 0; j < codes.n_levels; ++j) sizes += std::abs(Q[q * codes.n_levels + j]);
    if (!(sizes * of_book < 0x1p120)) return 0;
  }
#if defined(LOWTIDE_X86)
  if (ops().row_scan == avx2::row_scan) return kQueriesOfBitAvx2 * codes.bits;
#endif
  return kQueriesOfBit * codes.bits;
}

RowQueries::RowQueries(const CodeMatrix& codes, const double* Q, std::size_t n_queries, double sign)
    : exact_(codes, Q, n_queries, sign), lines_(n_queries) {
  const std::size_t per_byte = 8 / codes.bits, n_values = std::size_t{1} << codes.bits;
  const std::size_t stride = row_stride(words_per_row(codes.n_levels, codes.bits));
  const ByteBook book = byte_book(codes.book, n_values);
  for (unsigned p = 0; p < per_byte / 2; ++p)
    for (unsigned v = 0; v < 16; ++v) tables_[16 * p + v] = book.entries[v >> (p * codes.bits) & (n_values - 1)];
  n_weights_ = per_byte * stride;
  weights_ = make_buffer<std::int8_t>(n_queries * n_weights_);
  std::fill(weights_.get(), weights_.get() + n_queries * n_weights_, std::int8_t{0});
  double of_book = 0;
  for (std::size_t v = 0; v < n_values; ++v) of_book = std::max(of_book, std::abs(double{codes.book[v]}));
  for (std::size_t q = 0; q < n_queries; ++q) {
    const double* weights = Q + q * codes.n_levels;
    const double of_weights = weight_step(weights, codes.n_levels), step = book.step * of_weights;
    double offset = 0, sizes = 0;
    for (std::size_t j = 0; j < codes.n_levels; ++j) {
      const double weight = sign * weights[j];
      const auto byte =
          static_cast<std::int8_t>(std::clamp<double>(std::round(weight / of_weights), -kMostByte, kMostByte));
      weights_[q * n_weights_ + j % per_byte * stride + j / per_byte] = byte;
      double error = -std::numeric_limits<double>::infinity();
      for (std::size_t v = 0; v < n_values; ++v)
        error = std::max(error, (codes.book[v] - book.base) * weight - step * (book.entries[v] * byte));
      offset += book.base * weight + error;
      sizes += of_book * std::abs(weight) + step * kMostByte * std::abs(byte);
    }
    // A term passes at most n_levels sums here and in the score, and a few more roundings; sizes bounds them all.
    offset += 16 * static_cast<double>(codes.n_levels + 8) * std::numeric_limits<double>::epsilon() * sizes;
    // In float: the sum, the step and this offset are rounded, then their product, their sum, and what a factor makes of it.
    lines_[q] = {offset, step, static_cast<float>(offset + 0x1p-19 * sizes + std::numeric_limits<float>::min())};
  }
}

CodeQueries::CodeQueries(const CodeMatrix& codes, const CodeMatrix& queries, double sign)
    : n_bytes_((codes.n_levels + 7) / 8), bytes_(queries.n_rows, 2 * n_bytes_), scores_(codes.n_levels + 1) {
  const Contingency table = row_contingency(codes, queries);
  const auto n = static_cast<double>(codes.n_levels);
  const bool count_equal = sign * (table.weight[1][1] - table.weight[0][1]) >= 0;
  for (std::size_t count = 0; count <= codes.n_levels; ++count) {
    const auto c = static_cast<double>(count);
    scores_[count] = static_cast<float>(sign * table.at_distance(n, count_equal ? n - c : c));
  }
  for (const QueryGroup& group : bytes_.groups())
    for (std::size_t q = group.first; q < group.first + group.count; ++q) fill(queries, group, q, count_equal);
}

std::size_t CodeQueries::run() const { return kScanCounts; }

void CodeQueries::fill(const CodeMatrix& queries, const QueryGroup& group, std::size_t q, bool count_equal) {
  static constexpr std::uint8_t kOnes[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
  const std::uint64_t* row = queries.rows + q * words_per_row(queries.n_levels, 1);
  for (std::size_t g = 0; g < 2 * n_bytes_; ++g) {
    const unsigned nibble = row[g / 16] >> (4 * (g % 16)) & 15;
    const std::size_t left = queries.n_levels > 4 * g ? queries.n_levels - 4 * g : 0;
    const unsigned used = left >= 4 ? 15u : (1u << left) - 1;
    std::uint8_t* bytes = bytes_.entries(group, q, g);
    for (unsigned v = 0; v < 16; ++v) bytes[v] = kOnes[(count_equal ? ~(v ^ nibble) : v ^ nibble) & used];
  }
}

std::uint16_t CodeQueries::limit(std::size_t, double worst) const {
  const auto first = std::upper_bound(scores_.begin(), scores_.end(), worst) - scores_.begin();
  return static_cast<std::uint16_t>(std::min<std::size_t>(static_cast<std::size_t>(first), kLargestSum));
}

}  // namespace lowtide
