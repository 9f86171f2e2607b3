// Instruction-set levels: what the machine has, and what LOWTIDE_ISA allows.
#pragma once

namespace lowtide {

// Ordered: a level may use everything below it. avx512 means F, BW, DQ, VL and VPOPCNTDQ together; amx means VBMI,
// tiles and their products of bytes, and the system's leave to use them.
enum class Isa : int { scalar = 0, avx2 = 1, avx512 = 2, amx = 3 };

// The highest level this processor can run.
Isa detected_isa();

// The level in force: the detected one, or the lower one that the environment variable LOWTIDE_ISA names.
Isa active_isa();

const char* isa_name(Isa level);

// Why LOWTIDE_ISA was not followed, or an empty string.
const char* isa_complaint();

}  // namespace lowtide
