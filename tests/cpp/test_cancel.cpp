#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "lowtide/cancel.hpp"
#include "lowtide/parallel.hpp"

namespace {

using lowtide::CancelToken;
using lowtide::TokenEntry;
using lowtide::Watch;
using lowtide::WatchClock;

struct Threads {
  explicit Threads(int n) : before(lowtide::thread_count()) { lowtide::set_thread_count(n); }
  ~Threads() { lowtide::set_thread_count(before); }
  int before;
};

// Ranges that never end by themselves; what ended them, and how many of them saw that.
std::string endless_ranges(std::size_t n_ranges, std::atomic<int>& ended) {
  struct Leaving {
    std::atomic<int>& count;
    ~Leaving() { ++count; }
  };
  try {
    lowtide::parallel_for(n_ranges, 1, [&](std::size_t, std::size_t) {
      const Leaving leaving{ended};
      for (;;) lowtide::poll();
    });
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing";
}

bool pool_is_usable() {
  std::atomic<int> sum{0};
  lowtide::parallel_for(100, 1, [&](std::size_t begin, std::size_t end) { sum += static_cast<int>(end - begin); });
  return sum == 100;
}

std::atomic<int> questions{0};
void ask() {
  if (++questions == 3) throw std::runtime_error("told to");
}
void ask_and_work() {
  if (!pool_is_usable()) throw std::runtime_error("no pool");
  ask();
}

}  // namespace

LOWTIDE_TEST(a_poll_without_a_watch_does_nothing) {
  CHECK(Watch::current() == nullptr);
  lowtide::poll();
}

LOWTIDE_TEST(a_cancelled_token_ends_the_ranges_of_all_threads) {
  for (int n_threads : {1, 2, 4}) {
    const Threads set(n_threads);
    CancelToken token;
    const TokenEntry entry{&token, nullptr};
    std::atomic<int> ended{0};
    {
      const Watch watch(&entry, nullptr);  // first: of a token that says stop there is none
      std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        token.cancel();
      });
      CHECK(endless_ranges(4, ended) == "cancelled");
      other.join();
    }
    // Ranges that had not begun need not begin.
    CHECK(ended >= 1 && ended <= n_threads);
    CHECK(Watch::current() == nullptr);
    CHECK(pool_is_usable());
  }
}

LOWTIDE_TEST(a_deadline_ends_the_ranges_of_all_threads) {
  const Threads set(3);
  const auto start = WatchClock::now();
  const CancelToken outer(start + std::chrono::milliseconds(20)), inner;
  const TokenEntry first{&outer, nullptr}, entry{&inner, &first};
  std::atomic<int> ended{0};
  {
    const Watch watch(&entry, nullptr);
    CHECK(endless_ranges(3, ended) == "time ran out");
  }
  CHECK(WatchClock::now() - start >= std::chrono::milliseconds(20));
  CHECK(pool_is_usable());
}

LOWTIDE_TEST(a_token_that_says_stop_refuses_a_watch) {
  CancelToken token;
  token.cancel();
  const TokenEntry entry{&token, nullptr};
  bool refused = false;
  try {
    const Watch watch(&entry, nullptr);
  } catch (const lowtide::Cancelled& stop) {
    refused = !stop.timed_out;
  }
  CHECK(refused);
  CHECK(Watch::current() == nullptr);
}

LOWTIDE_TEST(what_the_host_throws_ends_the_op) {
  for (int n_threads : {1, 3}) {
    const Threads set(n_threads);
    std::atomic<int> ended{0};
    questions = 0;
    {
      const Watch watch(nullptr, ask);
      CHECK(endless_ranges(3, ended) == "told to");
    }
    CHECK(questions == 3);
    CHECK(pool_is_usable());
  }
}

LOWTIDE_TEST(the_host_is_asked_while_the_caller_waits_for_workers_and_may_work) {
  const Threads set(2);
  const std::thread::id caller = std::this_thread::get_id();
  questions = 0;
  std::string caught;
  const auto body = [&](std::size_t, std::size_t) {
    // Only the worker stays, so only waiting can ask; the caller's range lasts until the worker has begun.
    static std::atomic<int> begun{0};
    if (++begun % 2 == 1)
      while (begun % 2 == 1) std::this_thread::yield();
    while (std::this_thread::get_id() != caller) lowtide::poll();
  };
  try {
    const Watch watch(nullptr, ask_and_work);
    lowtide::parallel_for(2, 1, body);
  } catch (const std::runtime_error& error) {
    caught = error.what();
  }
  CHECK(caught == "told to");
  CHECK(pool_is_usable());
}

LOWTIDE_TEST(a_failure_of_a_watched_range_is_thrown_as_ever) {
  const Threads set(2);
  std::string caught;
  try {
    const Watch watch(nullptr, nullptr);
    lowtide::parallel_for(2, 1, [](std::size_t begin, std::size_t) {
      if (begin == 1) throw std::runtime_error("one");
    });
  } catch (const std::runtime_error& error) {
    caught = error.what();
  }
  CHECK(caught == "one");
}

LOWTIDE_TEST(polled_blocks_cover_a_range_once) {
  for (std::size_t block : {1, 3, 7, 100}) {
    std::vector<int> seen(20, 0);
    lowtide::polled_blocks(5, 20, block, [&](std::size_t first, std::size_t last) {
      CHECK(last - first <= block);
      for (std::size_t i = first; i < last; ++i) ++seen[i];
    });
    for (std::size_t i = 0; i < 20; ++i) CHECK(seen[i] == (i >= 5 ? 1 : 0));
  }
}

LOWTIDE_TEST(fill_zeros_fills_all_and_no_more) {
  const Threads set(3);
  for (std::size_t n : {0, 1, 1000, (9 << 20) + 5}) {
    std::vector<char> bytes(n + 1, 7);
    lowtide::fill_zeros(n, bytes.data());
    std::size_t left = 0;
    for (char byte : bytes) left += byte != 0;
    CHECK(left == 1 && bytes[n] == 7);
  }
}
