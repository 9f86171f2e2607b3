#include "lowtide/cancel.hpp"

#include <algorithm>
#include <utility>

namespace lowtide {
namespace {

// Thrown on threads that help with an op that is to stop. The calling thread has the reason.
struct Stopped : std::exception {};

struct Seat {
  Watch* watch = nullptr;
  bool is_caller = false;
};

constinit thread_local Seat seat{};

constexpr auto never = WatchClock::time_point::max();

}  // namespace

void check_tokens(const TokenEntry* tokens) {
  for (const TokenEntry* entry = tokens; entry != nullptr; entry = entry->outer) {
    if (entry->token->is_cancelled()) throw Cancelled(false);
    if (entry->token->deadline() != never && WatchClock::now() >= entry->token->deadline()) throw Cancelled(true);
  }
}

Watch::Watch(const TokenEntry* tokens, Ask ask) : tokens_(tokens), ask_(ask), outer_(seat.watch) {
  check_tokens(tokens);
  for (const TokenEntry* entry = tokens; entry != nullptr; entry = entry->outer)
    deadline_ = std::min(deadline_, entry->token->deadline());
  seat = {this, true};
}

// A watch within another is that of an op which the host ran while it was asked, on the same thread.
Watch::~Watch() { seat = {outer_, outer_ != nullptr}; }

Watch* Watch::current() noexcept { return seat.watch; }

void Watch::find_reason(bool is_caller) {
  for (const TokenEntry* entry = tokens_; entry != nullptr; entry = entry->outer)
    if (entry->token->is_cancelled()) throw Cancelled(false);
  const bool asks = is_caller && ask_ != nullptr;
  if (!asks && deadline_ == never) return;
  const auto now = WatchClock::now();
  if (now >= deadline_) throw Cancelled(true);
  if (!asks || now < next_ask_) return;
  // The first poll only starts the clock: most ops are over before it is time to ask.
  const bool is_first = next_ask_ == WatchClock::time_point{};
  next_ask_ = now + ask_interval;
  if (!is_first) ask_();
}

void Watch::stop(std::exception_ptr reason) noexcept {
  const std::lock_guard<std::mutex> lock(guard_);
  if (!reason_) reason_ = std::move(reason);
  stopped_.store(true, std::memory_order_release);
}

void Watch::poll() {
  if (!is_stopped()) look();
  if (is_stopped()) raise();
}

void Watch::look() noexcept {
  try {
    find_reason(seat.is_caller);
  } catch (...) {
    stop(std::current_exception());
  }
}

void Watch::raise() {
  if (!seat.is_caller) throw Stopped();
  const std::lock_guard<std::mutex> lock(guard_);
  std::rethrow_exception(reason_);
}

WatchedThread::WatchedThread(Watch* watch) noexcept { seat = {watch, false}; }

WatchedThread::~WatchedThread() { seat = {}; }

void poll() {
  if (seat.watch != nullptr) seat.watch->poll();
}

}  // namespace lowtide
