// Four bits at a time, by tables in memory: what the sixteen values of a nibble have in common with that of 128 right
// rows is made once for all left rows, 2 KB for a place in the row, and a left row adds the line that its nibble picks.
// One vpaddb with a load does 256 pairs of bits, where a look-up in registers takes vpshufb and vpaddb, of which one port
// does the former. For processors without vpopcntq. Binds: the front end, a rotate, a mask and an address for two lines.
//
// Panel: [8 places of nibbles][128 rows] twice, as 32 bits of a row for the left side, then as [4][128] bytes for the
// right one. Eight tables, 16 KB, and what is added to share L1. A byte sum grows by 4 a place: it is emptied into
// 16-bit sums after 56 places, those into the sums at the end.
#include <immintrin.h>

#include "lowtide/ops/code_dot/nibbles_avx2.hpp"

namespace lowtide::avx512 {
namespace {

constexpr std::size_t kPlaces = 8, kTable = 16 * kDotRows, kSteps = 7;
constexpr std::size_t kLeft = 2 * kDotRows, kStep = 8 * kDotRows;  // rows of the left side; bytes of a panel a step

inline __m512i load(const void* p) { return _mm512_load_si512(p); }

void prepare(const std::uint64_t* rows, std::size_t n_rows, std::size_t stride, std::size_t n_words, void* panel) {
  auto* to = static_cast<std::uint8_t*>(panel);
  for (std::size_t r = 0; r < kDotRows; ++r) {
    const std::uint64_t* row = rows + (r < n_rows ? r : n_rows - 1) * stride;
    auto* word = reinterpret_cast<std::uint32_t*>(to) + r;
    for (std::size_t w = 0; w < n_words; ++w, word += 2 * kStep / 4) {
      word[0] = static_cast<std::uint32_t>(row[w]);
      word[kStep / 4] = static_cast<std::uint32_t>(row[w] >> 32);
    }
  }
  using V = avx2::NibbleRegister;
  for (std::size_t r = 0; r < kDotRows; r += V::bytes) {
    const std::uint8_t* row[V::bytes];
    for (std::size_t i = 0; i < V::bytes; ++i)
      row[i] = reinterpret_cast<const std::uint8_t*>(rows + (r + i < n_rows ? r + i : n_rows - 1) * stride);
    byte_columns::each_column<V>(row, 8 * n_words, [&](std::size_t b, V::Reg bytes) {
      V::store(to + b / 4 * kStep + 4 * kDotRows + b % 4 * kDotRows + r, bytes);
    });
  }
}

// The tables of one step of the right panel: [place][16 values][128 rows].
inline void make_tables(const std::uint8_t* bytes, std::uint8_t* tables) {
  static constexpr nibbles::Tables common = nibbles::of_bits();
  const __m512i mask = _mm512_set1_epi8(15);
  for (std::size_t b = 0; b < kPlaces / 2; ++b)
    for (std::size_t half = 0; half < kDotRows; half += 64) {
      const __m512i both = load(bytes + b * kDotRows + half);
      const __m512i low = _mm512_and_si512(both, mask), high = _mm512_and_si512(_mm512_srli_epi16(both, 4), mask);
      std::uint8_t* to = tables + 2 * b * kTable + half;
#pragma GCC unroll 16
      for (std::size_t v = 0; v < 16; ++v, to += kDotRows) {
        const __m512i entry = _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(common.entry[v])));
        _mm512_store_si512(to, _mm512_shuffle_epi8(entry, low));
        _mm512_store_si512(to + kTable, _mm512_shuffle_epi8(entry, high));
      }
    }
}

// Adds the lines that `count` left rows pick to their sums of bytes.
inline void add_lines(const std::uint32_t* left, std::size_t count, const std::uint8_t* tables, std::uint8_t* sums) {
  for (std::size_t i = 0; i < count; ++i, sums += kDotRows) {
    const std::uint64_t bits = left[i];
    __m512i first = load(sums), second = load(sums + 64);
#pragma GCC unroll 8
    for (unsigned place = 0; place < kPlaces; ++place) {
      // Nibble times the 128 bytes of a line.
      const unsigned turn = (4 * place + 57) % 64;
      const std::uint8_t* line = tables + ((bits >> turn | bits << (64 - turn)) & 15 * kDotRows);
      asm("" : "+r"(line));  // an address of its own: with an index, a load and its addition are two
      first = _mm512_add_epi8(first, load(line + place * kTable));
      second = _mm512_add_epi8(second, load(line + place * kTable + 64));
    }
    _mm512_store_si512(sums, first);
    _mm512_store_si512(sums + 64, second);
  }
}

inline void add_widened(std::uint16_t* sums, __m256i more) {
  _mm512_store_si512(sums, _mm512_add_epi16(load(sums), _mm512_cvtepu8_epi16(more)));
}

void multiply(const DotTile& tile) {
  alignas(64) std::uint8_t tables[kPlaces * kTable];
  alignas(64) std::uint8_t bytes[kLeft * kDotRows];
  alignas(64) std::uint16_t sums[kLeft * kDotRows] = {};
  const std::size_t n_steps = 2 * tile.n_words;
  for (std::size_t begin = 0; begin < n_steps; begin += kSteps) {
    for (std::size_t i = 0; i < tile.n_left * kDotRows; i += 64) _mm512_store_si512(bytes + i, _mm512_setzero_si512());
    for (std::size_t s = begin; s < n_steps && s < begin + kSteps; ++s) {
      make_tables(static_cast<const std::uint8_t*>(tile.right) + s * kStep + 4 * kDotRows, tables);
      for (std::size_t top = 0; top < tile.n_left; top += kDotRows) {
        const auto* left = static_cast<const std::uint8_t*>(tile.left) + top / kDotRows * tile.left_bytes + s * kStep;
        const std::size_t count = tile.n_left - top < kDotRows ? tile.n_left - top : kDotRows;
        add_lines(reinterpret_cast<const std::uint32_t*>(left), count, tables, bytes + top * kDotRows);
      }
    }
    for (std::size_t i = 0; i < tile.n_left * kDotRows; i += 64) {
      add_widened(sums + i, _mm256_load_si256(reinterpret_cast<const __m256i*>(bytes + i)));
      add_widened(sums + i + 32, _mm256_load_si256(reinterpret_cast<const __m256i*>(bytes + i + 32)));
    }
  }
  for (std::size_t i = 0; i < tile.n_left * kDotRows; ++i) tile.sums[i] += sums[i];
}

std::size_t panel_bytes(std::size_t n_words) { return 2 * n_words * kStep; }

}  // namespace

// Panels of 256 words take 512 KB; a 16-bit sum holds the ones of 1023 words.
const DotOp code_dot = {256, panel_bytes, prepare, multiply, kLeft / kDotRows};

}  // namespace lowtide::avx512
