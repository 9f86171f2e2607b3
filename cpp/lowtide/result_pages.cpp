#include "lowtide/result_pages.hpp"

#if defined(_WIN32)
#include <windows.h>
#else
#include <sys/mman.h>
#endif

#include <atomic>
#include <memory>
#include <new>

namespace lowtide {
namespace {

// One place without a lock: a fork in the middle of a call leaves nothing held in the child.
std::atomic<ResultPages*> spare{nullptr};

#if defined(_WIN32)
void* fresh_pages(std::size_t size) noexcept {
  return VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void free_pages(void* data, std::size_t) noexcept { VirtualFree(data, 0, MEM_RELEASE); }

// The system may take these back before others; until then they are ours.
void offer_pages(void* data, std::size_t size) noexcept { VirtualAlloc(data, size, MEM_RESET, PAGE_READWRITE); }
#else
// Advice may be refused: then pages are small, or stay taken.
void* fresh_pages(std::size_t size) noexcept {
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
#if defined(MADV_HUGEPAGE)
  static_cast<void>(madvise(data, size, MADV_HUGEPAGE));
#endif
  return data;
}

void free_pages(void* data, std::size_t size) noexcept { munmap(data, size); }

void offer_pages([[maybe_unused]] void* data, [[maybe_unused]] std::size_t size) noexcept {
#if defined(MADV_FREE)
  static_cast<void>(madvise(data, size, MADV_FREE));
#endif
}
#endif

void unmap(ResultPages* pages) noexcept {
  if (pages == nullptr) return;
  free_pages(pages->data, pages->size);
  delete pages;
}

ResultPages* map(std::size_t size) {
  auto pages = std::make_unique<ResultPages>(ResultPages{nullptr, size});
  pages->data = fresh_pages(size);
  if (pages->data == nullptr) throw std::bad_alloc();
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
  offer_pages(pages->data, pages->size);
  unmap(spare.exchange(pages));
}

}  // namespace lowtide
