#include "lowtide/isa.hpp"

#if defined(LOWTIDE_AMX)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif
#if defined(LOWTIDE_ARM) && defined(__linux__)
#include <sys/auxv.h>
#elif defined(LOWTIDE_ARM) && defined(__APPLE__)
#include <sys/sysctl.h>
#endif

#include <cstdlib>
#include <cstring>

namespace lowtide {
namespace {

constexpr Isa levels[] = {Isa::scalar, Isa::avx2, Isa::avx512, Isa::vbmi, Isa::amx, Isa::neon, Isa::dotprod, Isa::i8mm};

struct Choice {
  Isa level;
  const char* complaint;
};

#if defined(LOWTIDE_AMX)
// Tiles are 8 KB more to save for every thread, so Linux gives them to processes that ask.
bool may_use_tiles() {
  constexpr unsigned tiles_and_bytes = 3u << 24;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & tiles_and_bytes) != tiles_and_bytes) return false;
  constexpr long ask = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, ask, tile_data) == 0;
}
#elif defined(LOWTIDE_X86)
bool may_use_tiles() { return false; }
#endif

#if defined(LOWTIDE_ARM)
struct Features {
  bool crc32, dotprod, i8mm;
};

#if defined(__linux__)
Features features() {
  // Bits of the kernel's interface; older headers lack the names of some.
  const unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
  return {(first >> 7 & 1) != 0, (first >> 20 & 1) != 0, (second >> 13 & 1) != 0};
}
#elif defined(__APPLE__)
bool has(const char* name) {
  int value = 0;
  std::size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}

Features features() {
  return {has("hw.optional.armv8_crc32"), has("hw.optional.arm.FEAT_DotProd"), has("hw.optional.arm.FEAT_I8MM")};
}
#else
// Nobody to ask: plain C++.
Features features() { return {}; }
#endif
#endif

Isa detect() {
#if defined(LOWTIDE_X86)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("popcnt");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512vnni");
  const bool vbmi = avx512 && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vpopcntdq");
  if (vbmi && may_use_tiles()) return Isa::amx;
  if (vbmi) return Isa::vbmi;
  if (avx512) return Isa::avx512;
  if (avx2) return Isa::avx2;
#elif defined(LOWTIDE_ARM)
  const Features has = features();
  if (has.crc32 && has.dotprod && has.i8mm) return Isa::i8mm;
  if (has.crc32 && has.dotprod) return Isa::dotprod;
  if (has.crc32) return Isa::neon;
#endif
  return Isa::scalar;
}

Choice choose() {
  const Isa best = detected_isa();
  const char* wish = std::getenv("LOWTIDE_ISA");
  if (wish == nullptr || *wish == '\0') return {best, ""};
  for (Isa level : levels) {
    if (std::strcmp(wish, isa_name(level)) != 0) continue;
    if (!level.runs_on(best)) return {best, "LOWTIDE_ISA names a level that this processor does not have"};
    return {level, ""};
  }
  return {best, "LOWTIDE_ISA must be scalar, avx2, avx512, vbmi, amx, neon, dotprod or i8mm"};
}

const Choice& choice() {
  static const Choice chosen = choose();
  return chosen;
}

}  // namespace

std::span<const Isa> all_levels() { return levels; }

Isa detected_isa() {
  static const Isa level = detect();
  return level;
}

Isa active_isa() { return choice().level; }

const char* isa_complaint() { return choice().complaint; }

const char* isa_name(Isa level) {
  if (level == Isa::avx2) return "avx2";
  if (level == Isa::avx512) return "avx512";
  if (level == Isa::vbmi) return "vbmi";
  if (level == Isa::amx) return "amx";
  if (level == Isa::neon) return "neon";
  if (level == Isa::dotprod) return "dotprod";
  if (level == Isa::i8mm) return "i8mm";
  return "scalar";
}

}  // namespace lowtide
