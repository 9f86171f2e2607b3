#include <cstdint>
#include <cstring>
#include <new>
#include <thread>

#include "check.hpp"
#include "lowtide/result_pages.hpp"

namespace {

using lowtide::give_pages;
using lowtide::large_result;
using lowtide::ResultPages;
using lowtide::take_pages;

// Pages that nobody else has have the value that was written to all of them.
bool are_ours(const ResultPages& pages, unsigned char value) {
  const auto* bytes = static_cast<const unsigned char*>(pages.data);
  for (std::size_t i = 0; i < pages.size; i += 4096)
    if (bytes[i] != value) return false;
  return true;
}

// Next to nothing is kept then.
void forget_pages() { give_pages(take_pages(1)); }

}  // namespace

LOWTIDE_TEST(pages_start_at_a_page_and_have_the_size_asked_for) {
  for (std::size_t size : {std::size_t{1}, large_result, large_result + 12345}) {
    ResultPages* pages = take_pages(size);
    CHECK(pages->size >= size, std::to_string(size));
    CHECK(reinterpret_cast<std::uintptr_t>(pages->data) % 4096 == 0);
    std::memset(pages->data, 1, size);
    give_pages(pages);
  }
}

LOWTIDE_TEST(pages_given_back_are_taken_by_what_fills_half_of_them) {
  forget_pages();
  ResultPages* first = take_pages(large_result);
  const void* place = first->data;
  give_pages(first);
  ResultPages* half = take_pages(large_result / 2);
  CHECK(half->data == place && half->size == large_result);
  give_pages(half);
  ResultPages* less = take_pages(large_result / 2 - 1);
  CHECK(less->size == large_result / 2 - 1);
  give_pages(less);
  ResultPages* more = take_pages(large_result);
  CHECK(more->size == large_result);
  give_pages(more);
}

LOWTIDE_TEST(pages_beyond_the_most_that_is_kept_go_back_to_the_system) {
  give_pages(take_pages(lowtide::most_kept + 1));
  ResultPages* next = take_pages(lowtide::most_kept);
  CHECK(next->size == lowtide::most_kept);
  give_pages(next);
  forget_pages();
}

LOWTIDE_TEST(pages_in_use_are_given_to_nobody_else) {
  ResultPages *first = take_pages(large_result), *second = take_pages(large_result);
  std::memset(first->data, 1, large_result);
  std::memset(second->data, 2, large_result);
  CHECK(are_ours(*first, 1) && are_ours(*second, 2));
  give_pages(first);
  give_pages(second);
}

LOWTIDE_TEST(pages_that_the_system_refuses_are_a_bad_alloc) {
  bool refused = false;
  try {
    give_pages(take_pages(std::size_t{1} << 60));
  } catch (const std::bad_alloc&) {
    refused = true;
  }
  CHECK(refused);
}

LOWTIDE_TEST(pages_are_taken_and_given_by_many_threads_at_once) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (unsigned char t = 0; t < 4; ++t)
    threads.emplace_back([&wrong, t] {
      for (int repeat = 0; repeat < 300; ++repeat) {
        const std::size_t size = std::size_t{65536} * (1 + (repeat + t) % 3);
        ResultPages* pages = take_pages(size);
        std::memset(pages->data, t + 1, pages->size);
        std::this_thread::yield();
        wrong[t] += !are_ours(*pages, static_cast<unsigned char>(t + 1));
        give_pages(pages);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int count : wrong) CHECK(count == 0);
}
