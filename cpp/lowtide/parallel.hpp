// Splits rows over threads; the only threads there are.
#pragma once

#include <cstddef>
#include <functional>

namespace lowtide {

// Calls body(begin, end) on disjoint ranges that cover [0, n), each at least `grain` long but the last, on up to
// thread_count() threads, the caller's among them. Returns when all are done. Ranges never depend on timing, and
// an op's result for a row never depends on its range.
void parallel_for(std::size_t n, std::size_t grain, const std::function<void(std::size_t, std::size_t)>& body);

int thread_count();
void set_thread_count(int n);

}  // namespace lowtide
