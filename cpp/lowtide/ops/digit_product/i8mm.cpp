// smmla: two columns of eight rows of bytes times two others, 32 products in one instruction. A panel is [step of 8
// rows][digit][pair of columns][2 x 8 bytes], the same for both sides. Blocks of 4 x 4 columns keep 12 sums in registers,
// beside six of either side: 24 smmla and 12 loads for 128 products, where fused multiply-adds of floats take 32 and the
// loads of their values. Binds: the pipes of smmla. Tail: see the header.
#include <arm_neon.h>

#include "lowtide/ops/digit_product/digit_product.hpp"

namespace lowtide::i8mm {
namespace {

constexpr std::size_t kStepRows = 8, kPair = 16, kPairs = kDigitColumns / 2;
constexpr std::size_t kDigit = kPairs * kPair, kStep = kDigits * kDigit;

// One round of three: eight rows of 16 columns to pairs of columns of eight rows.
inline void zip(const uint8x16_t (&x)[8], uint8x16_t (&out)[8]) {
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    out[2 * j] = vzip1q_u8(x[j], x[j + 4]);
    out[2 * j + 1] = vzip2q_u8(x[j], x[j + 4]);
  }
}

// A step of one panel, on the sides that are wanted.
void prepare_step(const std::uint8_t* rows, std::size_t stride, const uint8x16x4_t (&tables)[kDigits],
                  std::int8_t* left, std::int8_t* right) {
  uint8x16_t x[8], y[8];
#pragma GCC unroll 8
  for (std::size_t i = 0; i < kStepRows; ++i) x[i] = vld1q_u8(rows + i * stride);
  zip(x, y);
  zip(y, x);
  zip(x, y);
#pragma GCC unroll 8
  for (std::size_t p = 0; p < kPairs; ++p) {
#pragma GCC unroll 3
    for (std::size_t d = 0; d < kDigits; ++d) {
      const int8x16_t digits = vreinterpretq_s8_u8(vqtbl4q_u8(tables[d], y[p]));
      if (left != nullptr) vst1q_s8(left + d * kDigit + p * kPair, digits);
      if (right != nullptr) vst1q_s8(right + d * kDigit + p * kPair, digits);
    }
  }
}

void prepare(const DigitPanels& p) {
  const std::size_t filled = (p.n_rows + kStepRows - 1) / kStepRows * kStepRows;
  for (std::size_t i = p.n_rows * p.n_columns; i < filled * p.n_columns; ++i) p.positions[i] = kNoPosition;
  uint8x16x4_t tables[kDigits];
  for (std::size_t d = 0; d < kDigits; ++d)
    for (std::size_t q = 0; q < 4; ++q) tables[d].val[q] = vreinterpretq_u8_s8(vld1q_s8(p.tables->digit[d] + 16 * q));
  for (std::size_t i = 0; i < filled; i += kStepRows)
    for (std::size_t j = 0; j < p.n_columns; j += kDigitColumns) {
      const std::size_t at = j / kDigitColumns * kDigitPanelBytes + i / kStepRows * kStep;
      prepare_step(p.positions + i * p.n_columns + j, p.n_columns, tables, p.left ? p.left + at : nullptr,
                   p.right ? p.right + at : nullptr);
    }
}

// Products with powers of two are exact: one rounding an addition, as without the fusing.
inline float32x4_t value(int32x4_t high, int32x4_t mid, int32x4_t low) {
  const float32x4_t sum = vfmaq_n_f32(vcvtq_f32_s32(high), vcvtq_f32_s32(mid), 0x1p-8f);
  return vfmaq_n_f32(sum, vcvtq_f32_s32(low), 0x1p-16f);
}

inline void add_to(float* sums, float32x4_t more) { vst1q_f32(sums, vaddq_f32(vld1q_f32(sums), more)); }

// 4 columns of a left panel and 4 of a right one.
void multiply_block(const std::int8_t* a, const std::int8_t* b, std::size_t n_steps, float* sums, std::size_t stride) {
  int32x4_t high[2][2], mid[2][2], low[2][2];
#pragma GCC unroll 2
  for (int r = 0; r < 2; ++r) {
#pragma GCC unroll 2
    for (int c = 0; c < 2; ++c) high[r][c] = mid[r][c] = low[r][c] = vdupq_n_s32(0);
  }
  for (std::size_t k = 0; k < n_steps; ++k, a += kStep, b += kStep) {
    int8x16_t x[2][kDigits], y[2][kDigits];
#pragma GCC unroll 3
    for (std::size_t d = 0; d < kDigits; ++d) {
#pragma GCC unroll 2
      for (std::size_t s = 0; s < 2; ++s) {
        x[s][d] = vld1q_s8(a + d * kDigit + s * kPair);
        y[s][d] = vld1q_s8(b + d * kDigit + s * kPair);
      }
    }
#pragma GCC unroll 2
    for (int r = 0; r < 2; ++r) {
#pragma GCC unroll 2
      for (int c = 0; c < 2; ++c) {
        high[r][c] = vmmlaq_s32(high[r][c], x[r][0], y[c][0]);
        mid[r][c] = vmmlaq_s32(vmmlaq_s32(mid[r][c], x[r][0], y[c][1]), x[r][1], y[c][0]);
        low[r][c] = vmmlaq_s32(vmmlaq_s32(low[r][c], x[r][0], y[c][2]), x[r][2], y[c][0]);
        low[r][c] = vmmlaq_s32(low[r][c], x[r][1], y[c][1]);
      }
    }
  }
  // A register has two rows of two columns.
  for (int r = 0; r < 2; ++r, sums += 2 * stride) {
    const float64x2_t first = vreinterpretq_f64_f32(value(high[r][0], mid[r][0], low[r][0]));
    const float64x2_t second = vreinterpretq_f64_f32(value(high[r][1], mid[r][1], low[r][1]));
    add_to(sums, vreinterpretq_f32_f64(vzip1q_f64(first, second)));
    add_to(sums + stride, vreinterpretq_f32_f64(vzip2q_f64(first, second)));
  }
}

void multiply(const DigitProduct& p) {
  const std::size_t n_steps = (p.n_rows + kStepRows - 1) / kStepRows;
  for (std::size_t c = 0; c < p.n_right; ++c)
    for (std::size_t r = 0; r < (p.upper && c + 1 < p.n_left ? c + 1 : p.n_left); ++r)
      for (std::size_t i = 0; i < kDigitColumns; i += 4)
        for (std::size_t j = 0; j < kDigitColumns; j += 4)
          multiply_block(p.left + r * kDigitPanelBytes + i / 2 * kPair, p.right + c * kDigitPanelBytes + j / 2 * kPair,
                         n_steps, p.sums + (r * kDigitColumns + i) * p.stride + c * kDigitColumns + j, p.stride);
}

}  // namespace

const DigitOp digit_product = {prepare, multiply};

}  // namespace lowtide::i8mm
