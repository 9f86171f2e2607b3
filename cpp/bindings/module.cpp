#include <nanobind/nanobind.h>

#include <optional>
#include <string>

#include "lowtide/isa.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/parallel.hpp"

namespace nb = nanobind;

namespace lowtide {
void bind_encode(nb::module_& m);
void bind_features(nb::module_& m);
void bind_codes(nb::module_& m);
void bind_ternary(nb::module_& m);
void bind_checksum(nb::module_& m);
void bind_results(nb::module_& m);
void bind_json(nb::module_& m);
void bind_cancel(nb::module_& m);
}  // namespace lowtide

namespace {

bool is_fast(const char* op) {
  const std::optional<bool> known = lowtide::is_fast_at(lowtide::active_isa(), op);
  if (!known) throw nb::value_error((std::string("is_fast: op must be in the table of ops, got ") + op).c_str());
  return *known;
}

}  // namespace

// For threadpoolctl, which finds them by name in the shared library.
extern "C" {
[[gnu::visibility("default")]] int lowtide_get_num_threads() { return lowtide::thread_count(); }
[[gnu::visibility("default")]] void lowtide_set_num_threads(int n) { lowtide::set_thread_count(n < 1 ? 1 : n); }
}

NB_MODULE(_lowtide_core, m) {
  m.def("isa", [] { return lowtide::isa_name(lowtide::active_isa()); }, "The instruction-set level in force.");
  m.def(
      "detected_isa", [] { return lowtide::isa_name(lowtide::detected_isa()); },
      "The highest level of this processor.");
  m.def(
      "isa_complaint", [] { return lowtide::isa_complaint(); },
      "Why LOWTIDE_ISA was not followed, or an empty string.");
  m.def("is_fast", &is_fast, nb::arg("op"),
        "Whether an op has a form of its own at the level in force, faster than what replaces it.");
  m.def("thread_count", &lowtide::thread_count, "Threads that ops use at most.");
  m.def("set_thread_count", &lowtide::set_thread_count, nb::arg("n"),
        "Set the threads that ops use at most, at least 1.");
  lowtide::bind_encode(m);
  lowtide::bind_features(m);
  lowtide::bind_codes(m);
  lowtide::bind_ternary(m);
  lowtide::bind_checksum(m);
  lowtide::bind_results(m);
  lowtide::bind_json(m);
  lowtide::bind_cancel(m);
}
