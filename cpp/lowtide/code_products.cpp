#include "lowtide/code_products.hpp"

#include <algorithm>
#include <vector>

#include "lowtide/buffer.hpp"
#include "lowtide/cancel.hpp"
#include "lowtide/layout.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/parallel.hpp"

namespace lowtide {
namespace {

// Both products add up tables over the words of items: the items of D W are rows, whose words run over the features;
// those of D' R are levels, whose words run over the rows. Words are taken in runs: the tables of a run are made, all
// threads share them, and each thread passes its items through in tiles. Neither tables nor tiles grow with the codes.
constexpr std::size_t kTableBytes = 1 << 19;  // of a run and panel: they stay in a second cache
constexpr std::size_t kTileWords = 1 << 14;   // 128 kB: beside the tables
constexpr std::size_t kMostPanels = 8;        // column panels that have tables at a time
// Most words of a run. A tile of levels must have 512 of them, so that the rows are read by cache lines.
constexpr std::size_t kMostRowWords = 64, kMostColumnWords = 32;
constexpr std::size_t kGrainItems = 64;
constexpr std::size_t kGrainWords = 8;  // whose tables a thread makes at least

template <typename T>
TablesFn<T> tables_op();
template <>
TablesFn<float> tables_op() {
  return ops().code_tables_f32;
}
template <>
TablesFn<double> tables_op() {
  return ops().code_tables_f64;
}
template <typename T>
ProductFn<T> product_op();
template <>
ProductFn<float> product_op() {
  return ops().code_product_f32;
}
template <>
ProductFn<double> product_op() {
  return ops().code_product_f64;
}

// values[q][v] of code_matvec.hpp for a nibble of levels with `width` values each, the codebook's columns
// [first, first + width).
template <typename T>
std::vector<T> nibble_values(const CodeMatrix& codes, std::size_t first, std::size_t width) {
  const unsigned bits = tile_bits(codes.bits), per = 4 / bits, mask = (1u << bits) - 1;
  const unsigned entries = 1u << codes.bits;
  std::vector<T> values(per * width * 16, T{0});
  for (unsigned l = 0; l < per; ++l)
    for (std::size_t p = 0; p < width; ++p)
      for (unsigned v = 0; v < 16; ++v) {
        const unsigned level = v >> (l * bits) & mask;
        if (level < entries) values[(l * width + p) * 16 + v] = codes.book[level * codes.width + first + p];
      }
  return values;
}

struct Panel {
  std::size_t first, count;
};

// Column panels of nearly equal width, none wider than an op takes.
std::vector<Panel> panels_of(std::size_t n_columns) {
  const std::size_t n_panels = (n_columns + kMaxColumns - 1) / kMaxColumns;
  std::vector<Panel> panels;
  for (std::size_t i = 0; i < n_panels; ++i) {
    const std::size_t begin = n_columns * i / n_panels;
    panels.push_back({begin, n_columns * (i + 1) / n_panels - begin});
  }
  return panels;
}

// Words of a run, by the size of their tables. Rows are read in pieces of so many words: at least two cache lines, and
// no more than leave a tile some hundred items.
template <typename T>
std::size_t run_words(std::size_t n_columns, std::size_t most) {
  const std::size_t columns = sizeof(T) == 4 && n_columns <= 4 ? n_columns : padded_columns(n_columns);
  return std::clamp<std::size_t>(kTableBytes / (16 * 16 * columns * sizeof(T)), 16, most);
}

// The tables of a run of words, for some panels and for each part of an item's result: one part for D W, as many as the
// codebook is wide for D' R.
template <typename T>
class RunTables {
 public:
  // Of up to n_words words.
  RunTables(std::vector<std::vector<T>> values, std::size_t n_words, std::size_t n_columns)
      : values_(std::move(values)),
        size_(16 * 16 * n_words * padded_columns(std::min(n_columns, kMaxColumns))),
        data_(make_buffer<T>(size_ * values_.size() * std::min(kMostPanels, panels_of(n_columns).size()))) {}

  std::size_t n_parts() const { return values_.size(); }
  const T* at(std::size_t panel, std::size_t part) const { return data_.get() + (panel * n_parts() + part) * size_; }

  // operand (n_features, n_columns) starts with the run's first feature; features past the end count as zero.
  void fill(const Panel* panels, std::size_t n_panels, std::size_t n_words, const T* operand, std::size_t n_features,
            std::size_t n_columns) {
    parallel_for(n_words, kGrainWords, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = 0; i < n_panels; ++i)
        for (std::size_t part = 0; part < n_parts(); ++part)
          tables_op<T>()(values_[part].data(), values_[part].size() / 16, operand + panels[i].first, n_features,
                         n_columns, begin, end, panels[i].count, data_.get() + (i * n_parts() + part) * size_);
    });
  }

 private:
  std::vector<std::vector<T>> values_;
  std::size_t size_;
  Buffer<T> data_;
};

// What is added up: items of n_words words, each of which takes per_word rows of an operand (n_features, n_columns).
// The result has a row for each part of an item.
template <typename T>
struct Sums {
  std::size_t n_items, n_words, per_word;
  const T* operand;
  std::size_t n_features, n_columns;
  T* out;
};

// Adds all runs of up to most_words words. make_tile(first_item, last_item, first_word, last_word, tile, stride) lays
// items out; values[part] are those of a nibble.
template <typename T, typename MakeTile>
class RunSums {
 public:
  RunSums(const Sums<T>& sums, std::size_t most_words, std::vector<std::vector<T>> values, const MakeTile& make_tile)
      : sums_(sums),
        values_(std::move(values)),
        make_tile_(make_tile),
        panels_(panels_of(sums.n_columns)),
        run_(run_words<T>(panels_[0].count, most_words)) {}

  void add() const {
    const std::size_t n_grains = (sums_.n_items + kGrainItems - 1) / kGrainItems;
    const std::size_t n_threads = static_cast<std::size_t>(thread_count());
    if (n_threads <= kFewThreads && sums_.n_items >= kManyItems * n_threads && sums_.n_words > kFewRuns * run_) {
      // Tables are a small part of the work: a few threads make their own sooner than they wait for each other.
      parallel_for(n_grains, 1, [&](std::size_t begin, std::size_t end) {
        add_runs([&](const auto& add_items) { add_items(begin, end); });
      });
      return;
    }
    add_runs([&](const auto& add_items) { parallel_for(n_grains, 1, add_items); });
  }

 private:
  static constexpr std::size_t kFewThreads = 4, kFewRuns = 4, kManyItems = 1024;

  // each_range(add_items) has the tables of a run added for ranges of grains of items.
  template <typename EachRange>
  void add_runs(const EachRange& each_range) const {
    RunTables<T> tables(values_, std::min(run_, sums_.n_words), sums_.n_columns);
    for (std::size_t p = 0; p < panels_.size(); p += kMostPanels) {
      const std::size_t n_panels = std::min(kMostPanels, panels_.size() - p);
      for (std::size_t first = 0; first < sums_.n_words; first += run_) {
        const std::size_t words = std::min(run_, sums_.n_words - first), feature = first * sums_.per_word;
        tables.fill(&panels_[p], n_panels, words, sums_.operand + feature * sums_.n_columns, sums_.n_features - feature,
                    sums_.n_columns);
        each_range(
            [&](std::size_t begin, std::size_t end) { add_items(tables, p, n_panels, first, words, begin, end); });
      }
    }
  }

  void add_items(const RunTables<T>& tables, std::size_t p, std::size_t n_panels, std::size_t first, std::size_t words,
                 std::size_t begin, std::size_t end) const {
    // A cache line more than needed: words a power of two apart would all share a few cache sets.
    const std::size_t most_items = kTileWords / run_, stride = most_items + 8, n_parts = tables.n_parts();
    const auto tile = make_buffer<std::uint64_t>(stride * words);
    const std::size_t stop = std::min(end * kGrainItems, sums_.n_items), n_columns = sums_.n_columns;
    for (std::size_t top = begin * kGrainItems; top < stop; top += most_items) {
      const std::size_t last = std::min(top + most_items, stop);
      make_tile_(top, last, first, first + words, tile.get(), stride);
      for (std::size_t i = 0; i < n_panels; ++i) {
        poll();
        for (std::size_t part = 0; part < n_parts; ++part)
          product_op<T>()(tile.get(), last - top, stride, 0, words, tables.at(i, part), panels_[p + i].count,
                          sums_.out + (top * n_parts + part) * n_columns + panels_[p + i].first, n_parts * n_columns);
      }
    }
  }

  const Sums<T>& sums_;
  std::vector<std::vector<T>> values_;
  const MakeTile& make_tile_;
  std::vector<Panel> panels_;
  std::size_t run_;
};

template <typename T, typename MakeTile>
void add_runs(const Sums<T>& sums, std::size_t most_words, std::vector<std::vector<T>> values,
              const MakeTile& make_tile) {
  RunSums<T, MakeTile>(sums, most_words, std::move(values), make_tile).add();
}

}  // namespace

template <typename T>
void code_matvec(const CodeMatrix& codes, const T* W, std::size_t n_columns, T* out) {
  fill_zeros(codes.n_rows * n_columns * sizeof(T), out);
  const unsigned bits = tile_bits(codes.bits);
  const std::size_t n_features = codes.n_levels * codes.width, n_words = words_per_row(codes.n_levels, bits);
  if (codes.n_rows == 0 || n_columns == 0 || n_features == 0) return;
  const std::size_t row_words = words_per_row(codes.n_levels, codes.bits);
  const Sums<T> sums{codes.n_rows, n_words, 64 / bits * codes.width, W, n_features, n_columns, out};
  add_runs(sums, kMostRowWords, {nibble_values<T>(codes, 0, codes.width)},
           [&](std::size_t first_row, std::size_t last_row, std::size_t first_word, std::size_t last_word,
               std::uint64_t* tile, std::size_t stride) {
             ops().row_tile(codes.rows + first_row * row_words, last_row - first_row, row_words, first_word, last_word,
                            codes.bits, tile, stride);
           });
}

template <typename T>
void code_rmatvec(const CodeMatrix& codes, const T* R, std::size_t n_columns, T* out) {
  fill_zeros(codes.n_levels * codes.width * n_columns * sizeof(T), out);
  if (codes.n_rows == 0 || n_columns == 0 || codes.n_levels == 0) return;
  const std::size_t per = 64 / tile_bits(codes.bits), row_words = words_per_row(codes.n_levels, codes.bits);
  std::vector<std::vector<T>> values;
  for (std::size_t p = 0; p < codes.width; ++p) values.push_back(nibble_values<T>(codes, p, 1));
  const std::size_t n_words = words_per_row(codes.n_rows, tile_bits(codes.bits));
  const Sums<T> sums{codes.n_levels, n_words, per, R, codes.n_rows, n_columns, out};
  add_runs(sums, kMostColumnWords, std::move(values),
           [&](std::size_t first_level, std::size_t last_level, std::size_t first_word, std::size_t last_word,
               std::uint64_t* tile, std::size_t stride) {
             const std::size_t first_row = first_word * per, last_row = std::min(codes.n_rows, last_word * per);
             ops().column_tile(codes.rows + first_row * row_words, last_row - first_row, row_words, first_level / per,
                               (last_level + per - 1) / per, codes.bits, tile, stride);
           });
}

template void code_matvec(const CodeMatrix&, const float*, std::size_t, float*);
template void code_matvec(const CodeMatrix&, const double*, std::size_t, double*);
template void code_rmatvec(const CodeMatrix&, const float*, std::size_t, float*);
template void code_rmatvec(const CodeMatrix&, const double*, std::size_t, double*);

}  // namespace lowtide
