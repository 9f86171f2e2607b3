#include <cstddef>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lowtide/ops.hpp"

namespace lowtide {
namespace {

void fill_scalar(Ops& table) {
  table.pack = scalar::pack;
  table.unpack = scalar::unpack;
  table.hadamard = scalar::hadamard;
  table.hadamard_transpose = scalar::hadamard_transpose;
  table.rotation = scalar::rotation;
  table.encode_levels = scalar::encode_levels;
  table.encode_bits = scalar::encode_bits;
  table.encode_stochastic = scalar::encode_stochastic;
  table.threshold_levels = scalar::threshold_levels;
  table.threshold_bits = scalar::threshold_bits;
  table.norm = scalar::norm;
  table.features = scalar::features;
  table.turns = scalar::turns;
  table.project = scalar::project;
  table.decode_f32 = scalar::decode.f32;
  table.decode_f64 = scalar::decode.f64;
  table.code_transpose = scalar::code_transpose.columns;
  table.row_tile = scalar::code_transpose.row_tile;
  table.column_tile = scalar::code_transpose.column_tile;
  table.code_tables_f32 = scalar::code_matvec.f32.tables;
  table.code_tables_f64 = scalar::code_matvec.f64.tables;
  table.code_product_f32 = scalar::code_matvec.f32.product;
  table.code_product_f64 = scalar::code_matvec.f64.product;
  table.row_product_f32 = scalar::row_product;
  table.row_product_f64 = scalar::row_product;
  table.code_dot = scalar::code_dot;
  table.code_ones = scalar::code_ones;
  table.bit_dot = scalar::bit_dot;
  table.code_gram = scalar::code_gram;
  table.ternary = scalar::ternary;
  table.trit_dot = scalar::trit_dot;
  table.trit_gram = scalar::trit_gram;
  table.code_scan = scalar::code_scan;
  table.row_scan = scalar::row_scan;
  table.panel_fill = scalar::panel_fill;
  table.panel_product = scalar::panel_product;
  table.pair_product = scalar::pair_product;
  table.digit_product = scalar::digit_product;
  table.crc32c = scalar::crc32c;
}

#if defined(LOWTIDE_X86)
void fill_avx2(Ops& table) {
  table.hadamard = avx2::hadamard;
  table.hadamard_transpose = avx2::hadamard_transpose;
  table.rotation = avx2::rotation;
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
  table.decode_f32 = avx2::decode.f32;
  table.decode_f64 = avx2::decode.f64;
  table.code_transpose = avx2::code_transpose.columns;
  table.row_tile = avx2::code_transpose.row_tile;
  table.column_tile = avx2::code_transpose.column_tile;
  table.code_tables_f32 = avx2::code_matvec.f32.tables;
  table.code_tables_f64 = avx2::code_matvec.f64.tables;
  table.code_product_f32 = avx2::code_matvec.f32.product;
  table.code_product_f64 = avx2::code_matvec.f64.product;
  table.row_product_f32 = avx2::row_product;
  table.row_product_f64 = avx2::row_product;
  table.code_dot = avx2::code_dot;
  table.code_ones = avx2::code_ones;
  table.bit_dot = avx2::bit_dot;
  table.code_gram = avx2::code_gram;
  table.ternary = avx2::ternary;
  table.trit_dot = avx2::trit_dot;
  table.trit_gram = avx2::trit_gram;
  table.code_scan = avx2::code_scan;
  table.row_scan = avx2::row_scan;
  table.panel_fill = avx2::panel_fill;
  table.panel_product = avx2::panel_product;
  table.pair_product = avx2::pair_product;
  table.crc32c = avx2::crc32c;
}

void fill_avx512(Ops& table) {
  table.hadamard = avx512::hadamard;
  table.hadamard_transpose = avx512::hadamard_transpose;
  table.rotation = avx512::rotation;
  table.encode_levels = avx512::encode_levels;
  table.encode_bits = avx512::encode_bits;
  table.encode_stochastic = avx512::encode_stochastic;
  table.threshold_levels = avx512::threshold_levels;
  table.threshold_bits = avx512::threshold_bits;
  table.features = avx512::features;
  table.decode_f32 = avx512::decode.f32;
  table.decode_f64 = avx512::decode.f64;
  table.code_transpose = avx512::code_transpose.columns;
  table.column_tile = avx512::code_transpose.column_tile;
  table.code_tables_f32 = avx512::code_matvec.f32.tables;
  table.code_tables_f64 = avx512::code_matvec.f64.tables;
  table.code_product_f32 = avx512::code_matvec.f32.product;
  table.code_product_f64 = avx512::code_matvec.f64.product;
  table.row_product_f32 = avx512::row_product;
  table.row_product_f64 = avx512::row_product;
  table.code_dot = avx512::code_dot;
  table.code_gram = avx512::code_gram;
  table.ternary = avx512::ternary;
  table.trit_dot = avx512::trit_dot;
  table.trit_gram = avx512::trit_gram;
  table.code_scan = avx512::code_scan;
  table.row_scan = avx512::row_scan;
  table.panel_fill = avx512::panel_fill;
  table.panel_product = avx512::panel_product;
  table.pair_product = avx512::pair_product;
}

void fill_vbmi(Ops& table) {
  table.code_dot = vbmi::code_dot;
  table.bit_dot = vbmi::bit_dot;
  table.code_gram = vbmi::code_gram;
  table.trit_dot = vbmi::trit_dot;
  table.trit_gram = vbmi::trit_gram;
}
#endif

#if defined(LOWTIDE_ARM)
void fill_neon(Ops& table) {
  table.hadamard = neon::hadamard;
  table.hadamard_transpose = neon::hadamard_transpose;
  table.rotation = neon::rotation;
  table.encode_levels = neon::encode_levels;
  table.encode_bits = neon::encode_bits;
  table.encode_stochastic = neon::encode_stochastic;
  table.threshold_levels = neon::threshold_levels;
  table.threshold_bits = neon::threshold_bits;
  table.norm = neon::norm;
  table.features = neon::features;
  table.turns = neon::turns;
  table.project = neon::project;
  table.pack = neon::pack;
  table.unpack = neon::unpack;
  table.decode_f32 = neon::decode.f32;
  table.decode_f64 = neon::decode.f64;
  table.code_transpose = neon::code_transpose.columns;
  table.row_tile = neon::code_transpose.row_tile;
  table.column_tile = neon::code_transpose.column_tile;
  table.code_tables_f32 = neon::code_matvec.f32.tables;
  table.code_tables_f64 = neon::code_matvec.f64.tables;
  table.code_product_f32 = neon::code_matvec.f32.product;
  table.code_product_f64 = neon::code_matvec.f64.product;
  table.row_product_f32 = neon::row_product;
  table.row_product_f64 = neon::row_product;
  table.code_dot = neon::code_dot;
  table.code_ones = neon::code_ones;
  table.bit_dot = neon::bit_dot;
  table.code_gram = neon::code_gram;
  table.ternary = neon::ternary;
  table.trit_dot = neon::trit_dot;
  table.trit_gram = neon::trit_gram;
  table.code_scan = neon::code_scan;
  table.panel_fill = neon::panel_fill;
  table.panel_product = neon::panel_product;
  table.crc32c = neon::crc32c;
}

void fill_dotprod(Ops& table) { table.bit_dot = dotprod::bit_dot; }

void fill_i8mm(Ops& table) { table.digit_product = i8mm::digit_product; }
#endif

#if defined(LOWTIDE_AMX)
void fill_amx(Ops& table) { table.digit_product = amx::digit_product; }
#endif

// What each level brings of its own; within a family by rank, so that the highest that runs has the last word.
struct Filler {
  Isa level;
  void (*fill)(Ops& table);
};

constexpr Filler fillers[] = {
    {Isa::scalar, fill_scalar},
#if defined(LOWTIDE_X86)
    {Isa::avx2, fill_avx2},     {Isa::avx512, fill_avx512},   {Isa::vbmi, fill_vbmi},
#endif
#if defined(LOWTIDE_AMX)
    {Isa::amx, fill_amx},
#endif
#if defined(LOWTIDE_ARM)
    {Isa::neon, fill_neon},     {Isa::dotprod, fill_dotprod}, {Isa::i8mm, fill_i8mm},
#endif
};

Ops table_of(Isa level) {
  Ops table{};
  for (const Filler& filler : fillers)
    if (filler.level.runs_on(level)) filler.fill(table);
  return table;
}

struct LevelOps {
  Isa level;
  Ops ops;
};

std::vector<LevelOps> tables_of_all_levels() {
  std::vector<LevelOps> tables;
  for (Isa level : all_levels()) tables.push_back({level, table_of(level)});
  return tables;
}

// Where an op is in the table. Entries are compared by their bytes.
struct Entry {
  std::string_view name;
  std::size_t offset, size;
};

static_assert(std::has_unique_object_representations_v<Ops>);

#define ENTRY(op) {#op, offsetof(Ops, op), sizeof(Ops::op)}
constexpr Entry entries[] = {
    ENTRY(pack),
    ENTRY(unpack),
    ENTRY(hadamard),
    ENTRY(hadamard_transpose),
    ENTRY(rotation),
    ENTRY(encode_levels),
    ENTRY(encode_bits),
    ENTRY(encode_stochastic),
    ENTRY(threshold_levels),
    ENTRY(threshold_bits),
    ENTRY(norm),
    ENTRY(features),
    ENTRY(turns),
    ENTRY(project),
    ENTRY(decode_f32),
    ENTRY(decode_f64),
    ENTRY(code_transpose),
    ENTRY(row_tile),
    ENTRY(column_tile),
    ENTRY(code_tables_f32),
    ENTRY(code_tables_f64),
    ENTRY(code_product_f32),
    ENTRY(code_product_f64),
    ENTRY(row_product_f32),
    ENTRY(row_product_f64),
    ENTRY(code_dot),
    ENTRY(code_ones),
    ENTRY(bit_dot),
    ENTRY(code_gram),
    ENTRY(ternary),
    ENTRY(trit_dot),
    ENTRY(trit_gram),
    ENTRY(code_scan),
    ENTRY(row_scan),
    ENTRY(panel_fill),
    ENTRY(panel_product),
    ENTRY(pair_product),
    ENTRY(digit_product),
    ENTRY(crc32c),
};
#undef ENTRY

}  // namespace

const Ops& ops_at(Isa level) {
  static const std::vector<LevelOps> tables = tables_of_all_levels();
  for (const LevelOps& one : tables)
    if (one.level == level) return one.ops;
  return tables.front().ops;
}

const Ops& ops() {
  static const Ops& active = ops_at(active_isa());
  return active;
}

std::optional<bool> is_fast_at(Isa level, std::string_view op) {
  const auto* plain = reinterpret_cast<const unsigned char*>(&ops_at(Isa::scalar));
  const auto* own = reinterpret_cast<const unsigned char*>(&ops_at(level));
  for (const Entry& entry : entries)
    if (entry.name == op) return std::memcmp(plain + entry.offset, own + entry.offset, entry.size) != 0;
  return std::nullopt;
}

}  // namespace lowtide
