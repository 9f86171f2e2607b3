// A tile of bytes times a tile of bytes by one tdpbssd: 16 x 64 of the left panel, a row a column of the matrix, and
// 16 x 64 of the right one, a row four rows of the matrix, 4 bytes of each of 16 columns. The right form is four rows
// interleaved; the left one is its transpose in units of 4 bytes. A panel is [step of 64 rows][digit][1024 bytes].
//
// Binds: tdpbssd, one in 16 cycles; four sums hide most of its 52 cycles of latency. Tail: see the header.
#include <immintrin.h>

#include <algorithm>
#include <cstring>

#include "lowtide/ops/digit_product/digit_product.hpp"

namespace lowtide::amx {
namespace {

constexpr std::size_t kTile = 1024, kStep = kDigits * kTile;

// Bytes of four rows, 64 columns each, to four vectors of 16 columns: the bytes of a column side by side.
inline void interleave(const std::uint8_t* rows, std::size_t stride, __m512i (&out)[4]) {
  // Unpacking works within lanes of 4 x 4 bytes: they are transposed before, so that columns come out in order.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  __m512i r[4];
  for (int i = 0; i < 4; ++i)
    r[i] = _mm512_permutexvar_epi32(order, _mm512_loadu_si512(rows + static_cast<std::size_t>(i) * stride));
  const __m512i a = _mm512_unpacklo_epi8(r[0], r[1]), b = _mm512_unpackhi_epi8(r[0], r[1]);
  const __m512i c = _mm512_unpacklo_epi8(r[2], r[3]), d = _mm512_unpackhi_epi8(r[2], r[3]);
  out[0] = _mm512_unpacklo_epi16(a, c);
  out[1] = _mm512_unpackhi_epi16(a, c);
  out[2] = _mm512_unpacklo_epi16(b, d);
  out[3] = _mm512_unpackhi_epi16(b, d);
}

// 16 x 16 units of 4 bytes.
inline void transpose(const __m512i (&in)[16], __m512i (&out)[16]) {
  __m512i a[16], b[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 2) {
    a[i] = _mm512_unpacklo_epi32(in[i], in[i + 1]);
    a[i + 1] = _mm512_unpackhi_epi32(in[i], in[i + 1]);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 4) {
    b[i] = _mm512_unpacklo_epi64(a[i], a[i + 2]);
    b[i + 1] = _mm512_unpackhi_epi64(a[i], a[i + 2]);
    b[i + 2] = _mm512_unpacklo_epi64(a[i + 1], a[i + 3]);
    b[i + 3] = _mm512_unpackhi_epi64(a[i + 1], a[i + 3]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512i low = _mm512_shuffle_i32x4(b[i], b[i + 4], 0x88), high = _mm512_shuffle_i32x4(b[i], b[i + 4], 0xdd);
    const __m512i low2 = _mm512_shuffle_i32x4(b[i + 8], b[i + 12], 0x88);
    const __m512i high2 = _mm512_shuffle_i32x4(b[i + 8], b[i + 12], 0xdd);
    out[i] = _mm512_shuffle_i32x4(low, low2, 0x88);
    out[i + 8] = _mm512_shuffle_i32x4(low, low2, 0xdd);
    out[i + 4] = _mm512_shuffle_i32x4(high, high2, 0x88);
    out[i + 12] = _mm512_shuffle_i32x4(high, high2, 0xdd);
  }
}

inline void write_digits(const DigitTables& tables, __m512i positions, std::int8_t* to) {
#pragma GCC unroll 3
  for (std::size_t d = 0; d < kDigits; ++d)
    _mm512_store_si512(to + d * kTile, _mm512_permutexvar_epi8(positions, _mm512_load_si512(tables.digit[d])));
}

// 64 rows of 64 columns: a step of four panels on both sides.
void prepare_block(const std::uint8_t* rows, std::size_t stride, const DigitTables& tables, std::int8_t* left,
                   std::int8_t* right) {
  __m512i groups[4][16];
  for (std::size_t g = 0; g < 16; ++g) {
    __m512i four[4];
    interleave(rows + 4 * g * stride, stride, four);
    for (std::size_t q = 0; q < 4; ++q) {
      groups[q][g] = four[q];
      if (right != nullptr) write_digits(tables, four[q], right + q * kDigitPanelBytes + 64 * g);
    }
  }
  if (left == nullptr) return;
  for (std::size_t q = 0; q < 4; ++q) {
    __m512i columns[16];
    transpose(groups[q], columns);
    for (std::size_t j = 0; j < 16; ++j) write_digits(tables, columns[j], left + q * kDigitPanelBytes + 64 * j);
  }
}

void prepare(const DigitPanels& p) {
  const std::size_t filled = (p.n_rows + kDigitBlock - 1) / kDigitBlock * kDigitBlock;
  std::memset(p.positions + p.n_rows * p.n_columns, kNoPosition, (filled - p.n_rows) * p.n_columns);
  for (std::size_t i = 0; i < filled; i += kDigitBlock)
    for (std::size_t j = 0; j < p.n_columns; j += kDigitBlock) {
      const std::size_t at = j / kDigitColumns * kDigitPanelBytes + i / kDigitBlock * kStep;
      prepare_block(p.positions + i * p.n_columns + j, p.n_columns, *p.tables, p.left ? p.left + at : nullptr,
                    p.right ? p.right + at : nullptr);
    }
}

struct alignas(64) TileShapes {
  std::uint8_t palette = 1, start_row = 0, unused[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Sums 0: high; 1: mid; 2 and 3: low.
inline void sum_steps(const std::int8_t* a, const std::int8_t* b, std::size_t n_steps) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::size_t k = 0; k < n_steps; ++k, a += kStep, b += kStep) {
    _tile_loadd(4, a, 64);
    _tile_loadd(6, b, 64);
    _tile_dpbssd(0, 4, 6);
    _tile_loadd(7, b + kTile, 64);
    _tile_dpbssd(1, 4, 7);
    _tile_loadd(5, a + kTile, 64);
    _tile_dpbssd(3, 5, 7);
    _tile_loadd(7, b + 2 * kTile, 64);
    _tile_dpbssd(2, 4, 7);
    _tile_dpbssd(1, 5, 6);
    _tile_loadd(5, a + 2 * kTile, 64);
    _tile_dpbssd(2, 5, 6);
  }
}

void multiply(const DigitProduct& p) {
  const TileShapes shapes;
  alignas(64) std::int32_t tiles[4][256];
  const std::size_t n_steps = (p.n_rows + kDigitBlock - 1) / kDigitBlock;
  asm volatile("" ::: "memory");  // GCC does not know that tile loads read memory
  _tile_loadconfig(&shapes);
  for (std::size_t c = 0; c < p.n_right; ++c)
    for (std::size_t r = 0; r < (p.upper ? std::min(c + 1, p.n_left) : p.n_left); ++r) {
      sum_steps(p.left + r * kDigitPanelBytes, p.right + c * kDigitPanelBytes, n_steps);
      _tile_stored(0, tiles[0], 64);
      _tile_stored(1, tiles[1], 64);
      _tile_stored(2, tiles[2], 64);
      _tile_stored(3, tiles[3], 64);
      asm volatile("" ::: "memory");
      float* to = p.sums + r * kDigitColumns * p.stride + c * kDigitColumns;
      for (std::size_t i = 0; i < kDigitColumns; ++i, to += p.stride) {
        const __m512 high = _mm512_cvtepi32_ps(_mm512_load_si512(tiles[0] + 16 * i));
        const __m512 mid = _mm512_cvtepi32_ps(_mm512_load_si512(tiles[1] + 16 * i));
        const __m512 low = _mm512_cvtepi32_ps(
            _mm512_add_epi32(_mm512_load_si512(tiles[2] + 16 * i), _mm512_load_si512(tiles[3] + 16 * i)));
        // Products with powers of two are exact: one rounding an addition, as without the fusing.
        const __m512 sum =
            _mm512_fmadd_ps(low, _mm512_set1_ps(0x1p-16f), _mm512_fmadd_ps(mid, _mm512_set1_ps(0x1p-8f), high));
        _mm512_storeu_ps(to, _mm512_add_ps(_mm512_loadu_ps(to), sum));
      }
    }
  _tile_release();
}

}  // namespace

const DigitOp digit_product = {prepare, multiply};

}  // namespace lowtide::amx
