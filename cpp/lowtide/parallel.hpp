// Splits rows over threads; the only threads there are.
#pragma once

#include <cstddef>
#include <functional>

namespace lowtide {

// Calls body(begin, end) on disjoint ranges that cover [0, n), each at least `grain` long but the last, on up to
// thread_count() threads, the caller's among them. Returns when all are done. There are at most thread_count() ranges;
// they depend on n, grain and thread_count() alone, never on timing, and an op's result for a row never depends on its
// range. If bodies throw, the other ranges still run and the exception of the first such range is rethrown.
// Bodies call poll() of cancel.hpp between blocks: an op that is to stop ends so on every thread, with the reason thrown
// here.
//
// Safe from any thread: a call made inside a body, or while another thread's call holds the workers, runs its ranges
// one after the other on the calling thread. Safe across fork: the child starts its own workers when it needs them.
void parallel_for(std::size_t n, std::size_t grain, const std::function<void(std::size_t, std::size_t)>& body);

// Sets n_bytes bytes to zero, on all threads where they are many: the system gives out fresh pages one by one.
void fill_zeros(std::size_t n_bytes, void* to);

// By default the first number in OMP_NUM_THREADS, else the processors this process may run on.
int thread_count();

// n is at least 1, else std::invalid_argument; above max_thread_count it is taken as max_thread_count.
void set_thread_count(int n);

constexpr int max_thread_count = 256;

}  // namespace lowtide
