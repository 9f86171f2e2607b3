#include "lowtide/code_products.hpp"

#include <algorithm>
#include <vector>

#include "lowtide/buffer.hpp"
#include "lowtide/layout.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/parallel.hpp"

namespace lowtide {
namespace {

constexpr std::size_t kRunRows = 4096;  // rows of a transposed run: their tables fit L2
constexpr std::size_t kGrainRows = 64;
constexpr std::size_t kGrainNibbles = 128;

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

// Widths whose levels never straddle a nibble are used as stored; 3-bit levels are repacked to 4.
unsigned product_bits(unsigned bits) { return bits == 3 ? 4 : bits; }

void widen_rows(const CodeMatrix& codes, std::size_t begin, std::size_t end, std::uint64_t* out) {
  const std::size_t row_words = words_per_row(codes.n_levels, codes.bits);
  const std::size_t out_words = words_per_row(codes.n_levels, 4);
  std::vector<std::uint8_t> levels(codes.n_levels);
  for (std::size_t i = begin; i < end; ++i) {
    ops().unpack(codes.rows + i * row_words, codes.n_levels, codes.bits, levels.data());
    ops().pack(levels.data(), codes.n_levels, 4, out + (i - begin) * out_words);
  }
}

// values[q][v] of code_matvec.hpp for a nibble of `per` levels with `width` values each, the codebook's columns
// [first, first + width).
template <typename T>
std::vector<T> nibble_values(const CodeMatrix& codes, std::size_t first, std::size_t width) {
  const unsigned bits = product_bits(codes.bits), per = 4 / bits, mask = (1u << bits) - 1;
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

template <typename T>
void fill_tables(const std::vector<T>& values, const T* W, std::size_t n_features, std::size_t stride,
                 std::size_t n_nibbles, std::size_t n_columns, T* tables) {
  parallel_for(n_nibbles, kGrainNibbles, [&](std::size_t begin, std::size_t end) {
    tables_op<T>()(values.data(), values.size() / 16, W, n_features, stride, begin, end, n_columns, tables);
  });
}

template <typename T>
Buffer<T> table_buffer(std::size_t n_nibbles, std::size_t n_columns) {
  return make_buffer<T>(16 * n_nibbles * padded_columns(std::min(n_columns, kMaxColumns)));
}

// D W for the rows [begin, end) of one panel; tables are filled.
template <typename T>
void multiply_rows(const CodeMatrix& codes, std::size_t begin, std::size_t end, const T* tables, std::size_t n_columns,
                   T* out, std::size_t stride) {
  const std::size_t words = words_per_row(codes.n_levels, product_bits(codes.bits));
  if (codes.bits != 3) {
    product_op<T>()(codes.rows + begin * words, end - begin, words, words, tables, n_columns, out + begin * stride,
                    stride);
    return;
  }
  auto wide = make_buffer<std::uint64_t>(std::min<std::size_t>(256, end - begin) * words);
  for (std::size_t i = begin; i < end; i += 256) {
    const std::size_t last = std::min(end, i + 256);
    widen_rows(codes, i, last, wide.get());
    product_op<T>()(wide.get(), last - i, words, words, tables, n_columns, out + i * stride, stride);
  }
}

// A run of rows as packed columns of `words` words, one for each level of each word, padding levels included. Columns
// are `stride` words apart, a cache line more than they need: at a power of two they would all share a few cache sets.
struct Columns {
  Buffer<std::uint64_t> data, wide;
  std::size_t words, stride;
};

constexpr std::size_t column_stride(std::size_t words) { return words + 8; }

void transpose_run(const CodeMatrix& codes, std::size_t begin, std::size_t end, Columns& columns) {
  const unsigned bits = product_bits(codes.bits);
  const std::size_t row_words = words_per_row(codes.n_levels, bits), per = 64 / bits;
  const std::uint64_t* rows = codes.rows + begin * row_words;
  if (codes.bits == 3) {
    parallel_for(end - begin, kGrainRows, [&](std::size_t first, std::size_t last) {
      widen_rows(codes, begin + first, begin + last, columns.wide.get() + first * row_words);
    });
    rows = columns.wide.get();
  }
  columns.words = words_per_row(end - begin, bits);
  columns.stride = column_stride(columns.words);
  parallel_for(row_words, 8, [&](std::size_t first, std::size_t last) {
    ops().code_transpose(rows, end - begin, row_words, first, last, bits,
                         columns.data.get() + first * per * columns.stride, columns.stride);
  });
}

}  // namespace

template <typename T>
void code_matvec(const CodeMatrix& codes, const T* W, std::size_t n_columns, T* out) {
  std::fill(out, out + codes.n_rows * n_columns, T{0});
  const std::size_t n_features = codes.n_levels * codes.width;
  const std::size_t n_nibbles = 16 * words_per_row(codes.n_levels, product_bits(codes.bits));
  if (codes.n_rows == 0 || n_columns == 0 || n_features == 0) return;
  const auto values = nibble_values<T>(codes, 0, codes.width);
  const auto tables = table_buffer<T>(n_nibbles, n_columns);
  for (const Panel& panel : panels_of(n_columns)) {
    fill_tables(values, W + panel.first, n_features, n_columns, n_nibbles, panel.count, tables.get());
    parallel_for(codes.n_rows, kGrainRows, [&](std::size_t begin, std::size_t end) {
      multiply_rows(codes, begin, end, tables.get(), panel.count, out + panel.first, n_columns);
    });
  }
}

template <typename T>
void code_rmatvec(const CodeMatrix& codes, const T* R, std::size_t n_columns, T* out) {
  std::fill(out, out + codes.n_levels * codes.width * n_columns, T{0});
  if (codes.n_rows == 0 || n_columns == 0 || codes.n_levels == 0) return;
  const unsigned bits = product_bits(codes.bits);
  const std::size_t row_words = words_per_row(codes.n_levels, bits), width = codes.width;
  const std::size_t run = std::min(kRunRows, codes.n_rows);
  Columns columns{make_buffer<std::uint64_t>(row_words * (64 / bits) * column_stride(words_per_row(run, bits))),
                  codes.bits == 3 ? make_buffer<std::uint64_t>(run * row_words) : nullptr, 0, 0};
  const auto tables = table_buffer<T>(16 * words_per_row(run, bits), n_columns);
  for (std::size_t begin = 0; begin < codes.n_rows; begin += run) {
    const std::size_t end = std::min(codes.n_rows, begin + run);
    transpose_run(codes, begin, end, columns);
    for (const Panel& panel : panels_of(n_columns)) {
      for (std::size_t p = 0; p < width; ++p) {
        fill_tables(nibble_values<T>(codes, p, 1), R + begin * n_columns + panel.first, end - begin, n_columns,
                    16 * columns.words, panel.count, tables.get());
        parallel_for(codes.n_levels, kGrainRows, [&](std::size_t first, std::size_t last) {
          product_op<T>()(columns.data.get() + first * columns.stride, last - first, columns.stride, columns.words,
                          tables.get(), panel.count, out + (first * width + p) * n_columns + panel.first,
                          width * n_columns);
        });
      }
    }
  }
}

template void code_matvec(const CodeMatrix&, const float*, std::size_t, float*);
template void code_matvec(const CodeMatrix&, const double*, std::size_t, double*);
template void code_rmatvec(const CodeMatrix&, const float*, std::size_t, float*);
template void code_rmatvec(const CodeMatrix&, const double*, std::size_t, double*);

}  // namespace lowtide
