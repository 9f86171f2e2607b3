// How an op runs: without Python's lock, and watched.
#pragma once

#include <nanobind/nanobind.h>

#include "lowtide/cancel.hpp"

namespace lowtide {

// The tokens that Python code has made current on this thread.
const TokenEntry* current_tokens() noexcept;

// What the main thread asks Python while an op runs: the handlers of signals that have come. Null on other threads,
// where Python runs none.
Watch::Ask signal_handlers() noexcept;

// An op makes one after its checks. It throws Cancelled if a token of this thread says stop already.
class Unlocked {
 public:
  Unlocked() : watch_(current_tokens(), signal_handlers()) {}

 private:
  // The lock is taken again before the watch ends, since a reason that it holds may be a Python exception.
  Watch watch_;
  nanobind::gil_scoped_release nogil_;
};

}  // namespace lowtide
