#include <nanobind/stl/optional.h>

#include <chrono>
#include <memory>
#include <optional>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

#include "unlocked.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace lowtide {
namespace {

// An entry keeps its token for as long as it is current.
struct HeldEntry : TokenEntry {
  HeldEntry(nb::object object, const TokenEntry* before)
      : TokenEntry{nb::cast<const CancelToken*>(object), before}, held(std::move(object)) {}
  nb::object held;
};

thread_local const HeldEntry* innermost = nullptr;

unsigned long main_thread;

#if defined(__unix__) || defined(__APPLE__)
// After a fork the thread that forked is the main one.
void take_main_thread() { main_thread = PyThread_get_thread_ident(); }

void watch_forks() { pthread_atfork(nullptr, nullptr, take_main_thread); }
#else
void watch_forks() {}  // nothing forks here
#endif

void run_handlers() {
  const nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// A deadline beyond what the clock counts is none.
CancelToken* make_token(std::optional<double> seconds) {
  constexpr double most = 1e9;
  if (!seconds || *seconds > most) return new CancelToken();
  const auto span = std::chrono::duration_cast<WatchClock::duration>(std::chrono::duration<double>(*seconds));
  return new CancelToken(WatchClock::now() + span);
}

int token_state(const CancelToken& token) {
  const TokenEntry entry{&token, nullptr};
  try {
    check_tokens(&entry);
  } catch (const Cancelled& stop) {
    return stop.timed_out ? 2 : 1;
  }
  return 0;
}

void enter(nb::object token) { innermost = new HeldEntry(std::move(token), innermost); }

bool leave(nb::handle token) {
  const HeldEntry* entry = innermost;
  if (entry == nullptr || !entry->held.is(token)) return false;
  innermost = static_cast<const HeldEntry*>(entry->outer);
  delete entry;
  return true;
}

nb::list tokens_of_thread() {
  nb::list tokens;
  for (const TokenEntry* entry = innermost; entry != nullptr; entry = entry->outer)
    tokens.insert(0, static_cast<const HeldEntry*>(entry)->held);
  return tokens;
}

// The class of the error is Python's, which says what a caller may do about it.
void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Cancelled& stop) {
    const nb::object type = nb::module_::import_("lowtide.errors").attr("CancelledError");
    PyErr_SetObject(type.ptr(), type(stop.timed_out).ptr());
  }
}

}  // namespace

const TokenEntry* current_tokens() noexcept { return innermost; }

Watch::Ask signal_handlers() noexcept { return PyThread_get_thread_ident() == main_thread ? run_handlers : nullptr; }

void bind_cancel(nb::module_& m) {
  // The module may be imported on any thread.
  const nb::object main = nb::module_::import_("threading").attr("main_thread")();
  main_thread = nb::cast<unsigned long>(main.attr("ident"));
  watch_forks();
  nb::register_exception_translator(translate);
  nb::class_<CancelToken>(m, "_Token")
      .def("cancel", &CancelToken::cancel, "Tell what runs under the token to stop.")
      .def("state", &token_state, "0, or 1 once cancelled, or 2 once out of time.");
  m.def("make_token", &make_token, "seconds"_a.none(), nb::rv_policy::take_ownership,
        "A token that is never, or `seconds` from now, out of time.");
  m.def("enter_token", &enter, "token"_a, "Make a token hold for the ops of this thread, beside those that do.");
  m.def("leave_token", &leave, "token"_a, "End the last enter_token of this thread; False if it was of another token.");
  m.def("tokens", &tokens_of_thread, "The tokens that hold for this thread, outermost first.");
  m.def("poll", [] { check_tokens(innermost); }, "Raise CancelledError if a token of this thread says stop.");
}

}  // namespace lowtide
