// Calls every op once at each level under callgrind, or an emulator that counts; the driver is benchmarks/opcount.
//
// A call is named "<case>|<level>|<elements>|<unit>". Standard output names what the counts depend on.
#include <cstdio>
#include <string_view>

#include "cases.hpp"
#include "counter.hpp"

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
  begin();
  call();
  end();
  name(label);
}

// What is counted at a level: all ops, or those of which it has a form of its own over the next lower one. Above avx2
// there is nothing to count: valgrind has no AVX-512.
struct Counted {
  Isa level;
  std::string_view only;
};

constexpr Counted counted[] = {
    {Isa::scalar, ""}, {Isa::avx2, ""}, {Isa::neon, ""}, {Isa::dotprod, "bit_dot"}, {Isa::i8mm, "digit_product"}};

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
  for (const auto& [level, only] : opcount::counted)
    if (level.runs_on(detected_isa()))
      for (const opcount::Case& one : opcount::all_cases())
        if (one.name.starts_with(only)) opcount::count(one, level);
}
