// Memory of large results. The system hands out pages filled with zeros, and filling them takes longer than the ops
// that write over it. So the pages of the last large result that was let go are kept for the next, marked as free: the
// system takes them when it runs short. They start at a page, so no vector store straddles a cache line.
#pragma once

#include <cstddef>

namespace lowtide {

// Results of fewer bytes are left to malloc, which gives memory of this size again without the system.
constexpr std::size_t large_result = std::size_t{32} << 20;

// More bytes than these go back to the system at once.
constexpr std::size_t most_kept = std::size_t{512} << 20;

struct ResultPages {
  void* data;
  std::size_t size;
};

// At least `size` bytes of any content; kept pages are used from half their size up. Throws std::bad_alloc.
ResultPages* take_pages(std::size_t size);

// From any thread.
void give_pages(ResultPages* pages) noexcept;

}  // namespace lowtide
