// The whole test framework: LOWTIDE_TEST registers a function, CHECK counts and prints what does not hold.
//
//   LOWTIDE_TEST(pack_matches_scalar_at_every_level) {
//     for (Isa level : lowtide::check::runnable_levels()) CHECK(...);
//   }
#pragma once

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "lowtide/isa.hpp"

namespace lowtide::check {

struct Test {
  const char* name;
  void (*run)();
};

inline std::vector<Test>& tests() {
  static std::vector<Test> all;
  return all;
}

// Checks that failed in the test that runs now.
inline int& failures() {
  static int count = 0;
  return count;
}

struct Registrar {
  Registrar(const char* name, void (*run)()) { tests().push_back({name, run}); }
};

inline void check(bool holds, const char* what, const char* file, int line, const std::string& where = "") {
  if (holds) return;
  ++failures();
  if (failures() <= 10) std::printf("%s:%d: does not hold: %s %s\n", file, line, what, where.c_str());
}

// Bitwise equality: NaN equals NaN, 0 differs from -0.
template <typename T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// Every level this processor can run, scalar first.
inline std::vector<Isa> runnable_levels() {
  std::vector<Isa> levels;
  for (Isa level : all_levels())
    if (level.runs_on(detected_isa())) levels.push_back(level);
  return levels;
}

}  // namespace lowtide::check

// CHECK(condition) or CHECK(condition, std::string that says for which case).
#define CHECK(condition, ...) \
  ::lowtide::check::check((condition), #condition, __FILE__, __LINE__ __VA_OPT__(, ) __VA_ARGS__)

#define LOWTIDE_TEST(name)                                                   \
  static void name();                                                        \
  static const ::lowtide::check::Registrar registrar_of_##name(#name, name); \
  static void name()
