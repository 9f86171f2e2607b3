#include <cstdio>
#include <cstring>
#include <exception>

#include "check.hpp"

// Runs all tests; with --levels prints the instruction-set levels that this processor can run instead.
int main(int n_arguments, char** arguments) {
  if (n_arguments > 1 && std::strcmp(arguments[1], "--levels") == 0) {
    for (lowtide::Isa level : lowtide::check::runnable_levels()) std::printf("%s\n", lowtide::isa_name(level));
    return 0;
  }
  int passed = 0, failed = 0;
  for (const lowtide::check::Test& test : lowtide::check::tests()) {
    lowtide::check::failures() = 0;
    try {
      test.run();
    } catch (const std::exception& error) {
      lowtide::check::check(false, error.what(), test.name, 0);
    }
    const bool good = lowtide::check::failures() == 0;
    (good ? passed : failed) += 1;
    if (!good) std::printf("FAILED %s\n", test.name);
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
