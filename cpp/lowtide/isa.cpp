#include "lowtide/isa.hpp"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace lowtide {
namespace {

struct Choice {
  Isa level;
  const char* complaint;
};

Choice choose() {
  const Isa best = detected_isa();
  const char* wish = std::getenv("LOWTIDE_ISA");
  if (wish == nullptr || *wish == '\0') return {best, ""};
  for (Isa level : {Isa::scalar, Isa::avx2, Isa::avx512}) {
    if (std::strcmp(wish, isa_name(level)) != 0) continue;
    if (level > best) return {best, "LOWTIDE_ISA names a level that this processor does not have"};
    return {level, ""};
  }
  return {best, "LOWTIDE_ISA must be scalar, avx2 or avx512"};
}

const Choice& choice() {
  static const Choice chosen = choose();
  return chosen;
}

}  // namespace

Isa detected_isa() {
#if defined(LOWTIDE_X86)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("popcnt");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512vpopcntdq");
  if (avx512) return Isa::avx512;
  if (avx2) return Isa::avx2;
#endif
  return Isa::scalar;
}

Isa active_isa() { return choice().level; }

const char* isa_complaint() { return choice().complaint; }

const char* isa_name(Isa level) {
  switch (level) {
    case Isa::avx512: return "avx512";
    case Isa::avx2: return "avx2";
    default: return "scalar";
  }
}

}  // namespace lowtide
