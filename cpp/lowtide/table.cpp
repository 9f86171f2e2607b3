#include "lowtide/ops.hpp"

namespace lowtide {
namespace {

Ops scalar_ops() {
  Ops table{};
  table.pack = scalar::pack;
  table.unpack = scalar::unpack;
  table.hadamard = scalar::hadamard;
  table.encode_levels = scalar::encode_levels;
  table.encode_bits = scalar::encode_bits;
  table.encode_stochastic = scalar::encode_stochastic;
  table.threshold_levels = scalar::threshold_levels;
  table.threshold_bits = scalar::threshold_bits;
  table.norm = scalar::norm;
  table.features = scalar::features;
  table.turns = scalar::turns;
  table.project = scalar::project;
  table.decode_f32 = scalar::decode;
  table.decode_f64 = scalar::decode;
  table.code_transpose = scalar::code_transpose;
  table.code_tables_f32 = scalar::code_tables;
  table.code_tables_f64 = scalar::code_tables;
  table.code_product_f32 = scalar::code_product;
  table.code_product_f64 = scalar::code_product;
  table.code_counts = scalar::code_counts;
  table.code_gram = scalar::code_gram;
  table.ternary = scalar::ternary;
  table.trit_sums = scalar::trit_sums;
  table.trit_gram = scalar::trit_gram;
  table.code_scan = scalar::code_scan;
  table.panel_product = scalar::panel_product;
  table.digit_product = scalar::digit_product;
  table.crc32c = scalar::crc32c;
  return table;
}

Ops avx2_ops() {
  Ops table = scalar_ops();
#if defined(LOWTIDE_X86)
  table.hadamard = avx2::hadamard;
  table.encode_levels = avx2::encode_levels;
  table.encode_bits = avx2::encode_bits;
  table.encode_stochastic = avx2::encode_stochastic;
  table.threshold_levels = avx2::threshold_levels;
  table.threshold_bits = avx2::threshold_bits;
  table.norm = avx2::norm;
  table.features = avx2::features;
  table.turns = avx2::turns;
  table.project = avx2::project;
  table.pack = avx2::pack;
  table.unpack = avx2::unpack;
  table.decode_f32 = avx2::decode;
  table.decode_f64 = avx2::decode;
  table.code_transpose = avx2::code_transpose;
  table.code_tables_f32 = avx2::code_tables;
  table.code_tables_f64 = avx2::code_tables;
  table.code_product_f32 = avx2::code_product;
  table.code_product_f64 = avx2::code_product;
  table.code_counts = avx2::code_counts;
  table.code_gram = avx2::code_gram;
  table.ternary = avx2::ternary;
  table.trit_sums = avx2::trit_sums;
  table.trit_gram = avx2::trit_gram;
  table.code_scan = avx2::code_scan;
  table.panel_product = avx2::panel_product;
  table.crc32c = avx2::crc32c;
#endif
  return table;
}

Ops avx512_ops() {
  Ops table = avx2_ops();
#if defined(LOWTIDE_X86)
  table.hadamard = avx512::hadamard;
  table.encode_levels = avx512::encode_levels;
  table.encode_bits = avx512::encode_bits;
  table.encode_stochastic = avx512::encode_stochastic;
  table.threshold_levels = avx512::threshold_levels;
  table.threshold_bits = avx512::threshold_bits;
  table.features = avx512::features;
  table.decode_f32 = avx512::decode;
  table.decode_f64 = avx512::decode;
  table.code_transpose = avx512::code_transpose;
  table.code_tables_f32 = avx512::code_tables;
  table.code_tables_f64 = avx512::code_tables;
  table.code_product_f32 = avx512::code_product;
  table.code_product_f64 = avx512::code_product;
  table.code_counts = avx512::code_counts;
  table.code_gram = avx512::code_gram;
  table.ternary = avx512::ternary;
  table.trit_sums = avx512::trit_sums;
  table.trit_gram = avx512::trit_gram;
  table.code_scan = avx512::code_scan;
  table.panel_product = avx512::panel_product;
#endif
  return table;
}

Ops amx_ops() {
  Ops table = avx512_ops();
#if defined(LOWTIDE_AMX)
  table.digit_product = amx::digit_product;
#endif
  return table;
}

}  // namespace

const Ops& ops_at(Isa level) {
  static const Ops tables[] = {scalar_ops(), avx2_ops(), avx512_ops(), amx_ops()};
  return tables[static_cast<int>(level)];
}

const Ops& ops() {
  static const Ops& active = ops_at(active_isa());
  return active;
}

}  // namespace lowtide
