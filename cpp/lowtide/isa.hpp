// Instruction-set levels: what the machine has, and what LOWTIDE_ISA allows.
#pragma once

#include <span>

namespace lowtide {

// Processors whose levels build on one another. Levels of two families cannot be compared.
enum class Family : int { none, x86, arm };

// A rank within a family: a level may use everything of a lower rank in its own. Rank 0 is plain C++, the same in every
// family. avx512 means F, BW, DQ, VL and VNNI together, vbmi VBMI and VPOPCNTDQ besides; amx means tiles and their products
// of bytes, and the system's leave to use them. neon means what every 64-bit ARM processor has, and CRC32; dotprod adds dot products of
// bytes (FEAT_DotProd), i8mm products of matrices of bytes (FEAT_I8MM).
struct Isa {
  Family family;
  int rank;

  static const Isa scalar, avx2, avx512, vbmi, amx, neon, dotprod, i8mm;

  bool operator==(const Isa&) const = default;

  // Whether a processor whose highest level is `best` runs this one.
  constexpr bool runs_on(Isa best) const { return rank == 0 || (family == best.family && rank <= best.rank); }
};

inline constexpr Isa Isa::scalar{Family::none, 0};
inline constexpr Isa Isa::avx2{Family::x86, 1};
inline constexpr Isa Isa::avx512{Family::x86, 2};
inline constexpr Isa Isa::vbmi{Family::x86, 3};
inline constexpr Isa Isa::amx{Family::x86, 4};
inline constexpr Isa Isa::neon{Family::arm, 1};
inline constexpr Isa Isa::dotprod{Family::arm, 2};
inline constexpr Isa Isa::i8mm{Family::arm, 3};

// All levels there are, of every family; within one by rank.
std::span<const Isa> all_levels();

// The highest level this processor can run.
Isa detected_isa();

// The level in force: the detected one, or the lower one that the environment variable LOWTIDE_ISA names.
Isa active_isa();

const char* isa_name(Isa level);

// Why LOWTIDE_ISA was not followed, or an empty string.
const char* isa_complaint();

}  // namespace lowtide
