#include "lowtide/parallel.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

#include "lowtide/cancel.hpp"

namespace lowtide {
namespace {

using Body = std::function<void(std::size_t, std::size_t)>;

// True on a thread that runs a body, so that a nested call does not wait for workers that wait for it.
thread_local bool inside_body = false;

// One parallel_for: ranges are handed out by a counter, so it finishes even if no worker ever joins.
struct Job {
  const Body& body;
  std::size_t n;
  std::size_t n_ranges;
  Watch* watch;
  std::atomic<std::size_t> next{0};
  std::mutex guard{};
  std::size_t failed_range = 0;
  std::exception_ptr failure{};

  void run_range(std::size_t range) {
    const std::size_t share = n / n_ranges, extra = n % n_ranges;
    const std::size_t begin = range * share + std::min(range, extra);
    try {
      // The first range is all there is of short work, which has nothing to be told.
      if (range != 0) poll();
      body(begin, begin + share + (range < extra ? 1 : 0));
    } catch (...) {
      if (watch != nullptr && watch->is_stopped()) return;  // it has the reason
      const std::lock_guard<std::mutex> lock(guard);
      if (!failure || range < failed_range) {
        failure = std::current_exception();
        failed_range = range;
      }
    }
  }

  void work() {
    const bool outer = inside_body;
    inside_body = true;
    for (std::size_t range = next++; range < n_ranges; range = next++) run_range(range);
    inside_body = outer;
  }
};

class Pool {
 public:
  // False if another thread's job holds the workers.
  bool try_run(Job& job) {
    const std::unique_lock<std::mutex> turn(turn_, std::try_to_lock);
    if (!turn.owns_lock()) return false;
    const std::size_t helpers = start_workers(job.n_ranges - 1);
    {
      const std::lock_guard<std::mutex> lock(state_);
      job_ = &job;
      places_ = helpers;
    }
    wake_.notify_all();
    job.work();
    wait(job.watch);
    return true;
  }

 private:
  // For the workers that are still at it. The caller may be told meanwhile that they are to stop.
  void wait(Watch* watch) {
    std::unique_lock<std::mutex> lock(state_);
    job_ = nullptr;
    const auto is_over = [this] { return running_ == 0; };
    if (watch == nullptr) return done_.wait(lock, is_over);
    while (!done_.wait_for(lock, ask_interval, is_over)) {
      lock.unlock();
      const bool outer = std::exchange(inside_body, true);  // an op that is called meanwhile has no workers
      if (!watch->is_stopped()) watch->look();
      inside_body = outer;
      lock.lock();
    }
  }

  // Where the system refuses a thread, the job runs on those there are.
  std::size_t start_workers(std::size_t wanted) {
    try {
      for (; n_workers_ < wanted; ++n_workers_) std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
    }
    return std::min(wanted, n_workers_);
  }

  [[noreturn]] void serve() {
    std::unique_lock<std::mutex> lock(state_);
    for (;;) {
      wake_.wait(lock, [this] { return job_ != nullptr && places_ > 0; });
      --places_;
      ++running_;
      Job* job = job_;
      lock.unlock();
      {
        const WatchedThread watched(job->watch);
        job->work();
      }
      lock.lock();
      if (--running_ == 0) done_.notify_one();
    }
  }

  std::mutex turn_;
  std::size_t n_workers_ = 0;
  std::mutex state_;
  std::condition_variable wake_, done_;
  Job* job_ = nullptr;
  std::size_t places_ = 0, running_ = 0;
};

// Never deleted: workers may sleep in it while the process exits.
std::atomic<Pool*> current_pool{nullptr};

#if defined(__unix__) || defined(__APPLE__)
// Threads do not survive a fork and their locks may be held for ever, so the child forgets the pool.
void forget_pool() {
  current_pool.store(nullptr);
  inside_body = false;
}

int watch_forks() { return pthread_atfork(nullptr, nullptr, forget_pool); }
#else
int watch_forks() { return 0; }  // nothing forks here
#endif

Pool& pool() {
  static const int registered = watch_forks();
  static_cast<void>(registered);
  Pool* found = current_pool.load();
  if (found != nullptr) return *found;
  Pool* fresh = new Pool;
  if (current_pool.compare_exchange_strong(found, fresh)) return *fresh;
  delete fresh;
  return *found;
}

int usable_processors() {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

int default_thread_count() {
  const char* wish = std::getenv("OMP_NUM_THREADS");
  const long asked = wish == nullptr ? 0 : std::strtol(wish, nullptr, 10);
  if (asked < 1) return std::min(usable_processors(), max_thread_count);
  return static_cast<int>(std::min<long>(asked, max_thread_count));
}

std::atomic<int>& count() {
  static std::atomic<int> threads{default_thread_count()};
  return threads;
}

}  // namespace

void parallel_for(std::size_t n, std::size_t grain, const Body& body) {
  if (n == 0) return;
  const std::size_t most = std::max<std::size_t>(1, n / std::max<std::size_t>(1, grain));
  Job job{body, n, std::min(most, static_cast<std::size_t>(thread_count())), Watch::current()};
  if (job.n_ranges == 1 || inside_body || !pool().try_run(job)) job.work();
  if (job.watch != nullptr && job.watch->is_stopped()) job.watch->raise();
  if (job.failure) std::rethrow_exception(job.failure);
}

void fill_zeros(std::size_t n_bytes, void* to) {
  constexpr std::size_t grain = std::size_t{1} << 22, block = std::size_t{1} << 20;
  parallel_for(n_bytes, grain, [&](std::size_t begin, std::size_t end) {
    polled_blocks(begin, end, block, [&](std::size_t first, std::size_t last) {
      std::memset(static_cast<char*>(to) + first, 0, last - first);
    });
  });
}

int thread_count() { return count().load(); }

void set_thread_count(int n) {
  if (n < 1) throw std::invalid_argument("the number of threads must be at least 1");
  count().store(std::min(n, max_thread_count));
}

}  // namespace lowtide
