#include "lowtide/parallel.hpp"

namespace lowtide {
void parallel_for(std::size_t n, std::size_t, const std::function<void(std::size_t, std::size_t)>& body) { if (n) body(0, n); }
int thread_count() { return 1; }
void set_thread_count(int) {}
}  // namespace lowtide
