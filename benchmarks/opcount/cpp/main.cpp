// Calls every op once at each level under callgrind, one part of its output a call; the driver is benchmarks/opcount.
//
// A part is named "<case>|<level>|<elements>|<unit>". Standard output names what the counts depend on.
#include <valgrind/callgrind.h>

#include <cstdio>

#include "cases.hpp"

#if defined(__GLIBC__)
#include <gnu/libc-version.h>
#endif

namespace lowtide::opcount {
namespace {

Cases all_cases() {
  Cases cases;
  add_projections(cases);
  add_quantizers(cases);
  add_layouts(cases);
  add_products(cases);
  add_grams(cases);
  add_trits(cases);
  add_scans(cases);
  add_checksums(cases);
  return cases;
}

void count(const Case& one, Isa level) {
  const std::string label = one.name + "|" + isa_name(level) + "|" + std::to_string(one.elements) + "|" + one.unit;
  const Call call = one.bind(ops_at(level));
  call();  // the first call pays for the dynamic linker
  CALLGRIND_TOGGLE_COLLECT;
  call();
  CALLGRIND_TOGGLE_COLLECT;
  CALLGRIND_DUMP_STATS_AT(label.c_str());
}

void print_toolchain() {
  std::printf("compiler: %s\n", LOWTIDE_COMPILER);
  std::printf("processor: %s\n", LOWTIDE_PROCESSOR);
#if defined(__GLIBC__)
  std::printf("C library: glibc %s\n", gnu_get_libc_version());
#else
  std::printf("C library: not glibc\n");
#endif
}

}  // namespace
}  // namespace lowtide::opcount

int main() {
  using namespace lowtide;
  opcount::print_toolchain();
  // Above avx2 there is nothing to count: valgrind has no AVX-512.
  for (Isa level : {Isa::scalar, Isa::avx2})
    if (level.runs_on(detected_isa()))
      for (const opcount::Case& one : opcount::all_cases()) opcount::count(one, level);
}
