#include "lowtide/result_pages.hpp"

#include <sys/mman.h>

#include <atomic>
#include <memory>
#include <new>

namespace lowtide {
namespace {

// One place without a lock: a fork in the middle of a call leaves nothing held in the child.
std::atomic<ResultPages*> spare{nullptr};

void unmap(ResultPages* pages) noexcept {
  if (pages == nullptr) return;
  munmap(pages->data, pages->size);
  delete pages;
}

// Advice that the system may refuse: then pages are small, or stay taken.
void advise(const ResultPages& pages, int advice) noexcept {
  static_cast<void>(madvise(pages.data, pages.size, advice));
}

ResultPages* map(std::size_t size) {
  auto pages = std::make_unique<ResultPages>(ResultPages{nullptr, size});
  pages->data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages->data == MAP_FAILED) throw std::bad_alloc();
#if defined(MADV_HUGEPAGE)
  advise(*pages, MADV_HUGEPAGE);
#endif
  return pages.release();
}

}  // namespace

ResultPages* take_pages(std::size_t size) {
  ResultPages* kept = spare.exchange(nullptr);
  if (kept != nullptr && kept->size >= size && kept->size / 2 <= size) return kept;
  unmap(kept);
  return map(size);
}

void give_pages(ResultPages* pages) noexcept {
  if (pages->size > most_kept) return unmap(pages);
#if defined(MADV_FREE)
  advise(*pages, MADV_FREE);
#endif
  unmap(spare.exchange(pages));
}

}  // namespace lowtide
