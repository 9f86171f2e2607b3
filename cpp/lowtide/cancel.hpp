// Work that can be stopped: tokens, and the poll that every loop over blocks makes.
//
// The thread that calls an op makes a Watch for it. Threads that run ranges of its loops see the same watch, so the op
// stops on all of them as soon as one finds a reason to: a token that was cancelled, a time that ran out, or what the
// calling thread is told when it asks its host. Without a watch a poll is a look at a thread's own variable.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <mutex>

namespace lowtide {

using WatchClock = std::chrono::steady_clock;

// The calling thread asks its host at most so long after the last time, plus the time of a block.
constexpr std::chrono::milliseconds ask_interval{40};

// Thrown out of an op whose token was cancelled or whose time ran out.
struct Cancelled : std::exception {
  explicit Cancelled(bool out_of_time) : timed_out(out_of_time) {}
  const char* what() const noexcept override { return timed_out ? "time ran out" : "cancelled"; }
  bool timed_out;
};

// Says once and for all that work is to stop; any thread may say so or look.
class CancelToken {
 public:
  CancelToken() = default;
  explicit CancelToken(WatchClock::time_point deadline) : deadline_(deadline) {}

  void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }
  bool is_cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }
  WatchClock::time_point deadline() const noexcept { return deadline_; }

 private:
  std::atomic<bool> cancelled_{false};
  WatchClock::time_point deadline_ = WatchClock::time_point::max();
};

// The tokens that hold for a thread, the last first. Entries do not change while an op runs under them.
struct TokenEntry {
  const CancelToken* token;
  const TokenEntry* outer;
};

// Throws Cancelled if one of the tokens says stop.
void check_tokens(const TokenEntry* tokens);

class Watch {
 public:
  // Throws what the op shall end with, or returns.
  using Ask = void (*)();

  // Watches what this thread does until the end of its life. Throws Cancelled if a token says stop already. `ask` may
  // be null; only the thread that makes the watch calls it.
  Watch(const TokenEntry* tokens, Ask ask);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // The watch over this thread, or null.
  static Watch* current() noexcept;

  bool is_stopped() const noexcept { return stopped_.load(std::memory_order_acquire); }
  // As poll below; what it throws on the thread that made the watch is the reason.
  void poll();
  // As poll, but keeps the reason for raise().
  void look() noexcept;
  // Throws the reason; on other threads than the one that made the watch something in its place.
  [[noreturn]] void raise();

 private:
  friend class WatchedThread;

  void find_reason(bool is_caller);
  void stop(std::exception_ptr reason) noexcept;

  const TokenEntry* tokens_;
  const Ask ask_;
  WatchClock::time_point deadline_ = WatchClock::time_point::max(), next_ask_{};
  Watch* outer_;
  std::atomic<bool> stopped_{false};
  std::mutex guard_{};
  std::exception_ptr reason_{};
};

// While it lives, a thread that helps with an op is watched as the op is.
class WatchedThread {
 public:
  explicit WatchedThread(Watch* watch) noexcept;
  ~WatchedThread();
  WatchedThread(const WatchedThread&) = delete;
  WatchedThread& operator=(const WatchedThread&) = delete;
};

// Throws if the op that this thread works for is to stop. Called between blocks of at most some milliseconds at the
// slowest instruction-set level, and of at least some microseconds: it may read the clock.
void poll();

// Calls body(first, last) for blocks that cover [begin, end), with a poll between them.
template <typename Body>
void polled_blocks(std::size_t begin, std::size_t end, std::size_t block, const Body& body) {
  for (std::size_t first = begin; first < end;) {
    if (first != begin) poll();
    const std::size_t last = end - first > block ? first + block : end;
    body(first, last);
    first = last;
  }
}

// Items of a block whose items have so many values each: some 25 microseconds of vector code, a millisecond of scalar.
constexpr std::size_t items_a_block(std::size_t values) { return 1 + (std::size_t{1} << 16) / (values + 1); }

}  // namespace lowtide
