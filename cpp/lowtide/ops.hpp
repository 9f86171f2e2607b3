// The table of ops: one function pointer an op, filled once by walking up to the active level.
#pragma once

#include <optional>
#include <string_view>

#include "lowtide/isa.hpp"
#include "lowtide/ops/bit_dot/bit_dot.hpp"
#include "lowtide/ops/code_dot/code_dot.hpp"
#include "lowtide/ops/code_gram/code_gram.hpp"
#include "lowtide/ops/code_matvec/code_matvec.hpp"
#include "lowtide/ops/code_scan/code_scan.hpp"
#include "lowtide/ops/code_transpose/code_transpose.hpp"
#include "lowtide/ops/crc32c/crc32c.hpp"
#include "lowtide/ops/decode/decode.hpp"
#include "lowtide/ops/digit_product/digit_product.hpp"
#include "lowtide/ops/encode/encode.hpp"
#include "lowtide/ops/features/features.hpp"
#include "lowtide/ops/hadamard/hadamard.hpp"
#include "lowtide/ops/norm/norm.hpp"
#include "lowtide/ops/pack/pack.hpp"
#include "lowtide/ops/pair_product/pair_product.hpp"
#include "lowtide/ops/panel_fill/panel_fill.hpp"
#include "lowtide/ops/panel_product/panel_product.hpp"
#include "lowtide/ops/row_product/row_product.hpp"
#include "lowtide/ops/row_scan/row_scan.hpp"
#include "lowtide/ops/stochastic/stochastic.hpp"
#include "lowtide/ops/ternary/ternary.hpp"
#include "lowtide/ops/threshold/threshold.hpp"
#include "lowtide/ops/trit_dot/trit_dot.hpp"
#include "lowtide/ops/trit_gram/trit_gram.hpp"

namespace lowtide {

struct Ops {
  PackFn pack;
  UnpackFn unpack;
  HadamardFn hadamard;
  HadamardTransposeFn hadamard_transpose;
  RotationFn rotation;
  EncodeLevelsFn encode_levels;
  EncodeBitsFn encode_bits;
  EncodeStochasticFn encode_stochastic;
  ThresholdLevelsFn threshold_levels;
  ThresholdBitsFn threshold_bits;
  NormFn norm;
  FeaturesFn features;
  TurnsFn turns;
  ProjectFn project;
  DecodeFn<float> decode_f32;
  DecodeFn<double> decode_f64;
  TransposeFn code_transpose;
  TileFn row_tile;
  TileFn column_tile;
  TablesFn<float> code_tables_f32;
  TablesFn<double> code_tables_f64;
  ProductFn<float> code_product_f32;
  ProductFn<double> code_product_f64;
  RowProductFn<float> row_product_f32;
  RowProductFn<double> row_product_f64;
  DotOp code_dot;
  OnesFn code_ones;
  BitDotOp bit_dot;
  GramOp code_gram;
  TernaryOps ternary;
  DotOp trit_dot;
  TritGramOp trit_gram;
  ScanOp code_scan;
  RowScanFn row_scan;
  PanelFillOp panel_fill;
  PanelProductFn panel_product;
  PairOp pair_product;
  DigitOp digit_product;
  Crc32cFn crc32c;
};

// The ops of one level; where a level has no form of its own, the next lower one's. The level must be runnable here.
const Ops& ops_at(Isa level);

// The ops in force.
const Ops& ops();

// Whether an op, by its name in the table, has a form of its own above plain C++ at a level: there it is faster than
// what would be done without it. Nothing for a name that is not in the table.
std::optional<bool> is_fast_at(Isa level, std::string_view op);

}  // namespace lowtide
