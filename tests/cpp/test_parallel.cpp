#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.hpp"
#include "lowtide/parallel.hpp"
#include "lowtide/rows.hpp"

namespace {

struct Threads {
  explicit Threads(int n) : before(lowtide::thread_count()) { lowtide::set_thread_count(n); }
  ~Threads() { lowtide::set_thread_count(before); }
  int before;
};

bool covers_once(std::size_t n, std::size_t grain) {
  std::vector<std::atomic<int>> seen(n);
  std::atomic<int> n_ranges{0}, n_short{0};
  lowtide::parallel_for(n, grain, [&](std::size_t begin, std::size_t end) {
    ++n_ranges;
    if (end - begin < grain) ++n_short;
    for (std::size_t i = begin; i < end; ++i) ++seen[i];
  });
  for (const auto& count : seen)
    if (count != 1) return false;
  return n_ranges <= lowtide::thread_count() && n_short <= 1;
}

}  // namespace

LOWTIDE_TEST(parallel_for_covers_every_index_once) {
  for (int threads : {1, 2, 3, 8}) {
    const Threads set(threads);
    for (std::size_t n : {0, 1, 2, 7, 64, 1000})
      for (std::size_t grain : {0, 1, 3, 64, 5000}) CHECK(covers_once(n, grain), std::to_string(n));
  }
}

LOWTIDE_TEST(parallel_for_rethrows_the_first_failure_after_all_ranges_ran) {
  const Threads set(4);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::atomic<int> n_ranges{0};
    std::string caught;
    try {
      lowtide::parallel_for(4, 1, [&](std::size_t begin, std::size_t) {
        ++n_ranges;
        if (begin >= 2) throw std::runtime_error(std::to_string(begin));
      });
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
    CHECK(caught == "2");
    CHECK(n_ranges == 4);
  }
}

LOWTIDE_TEST(parallel_for_may_be_nested) {
  const Threads set(4);
  std::atomic<int> count{0};
  lowtide::parallel_for(8, 1, [&](std::size_t, std::size_t) {
    lowtide::parallel_for(100, 1, [&](std::size_t begin, std::size_t end) { count += static_cast<int>(end - begin); });
  });
  CHECK(count == 400);
}

LOWTIDE_TEST(parallel_for_may_be_called_by_many_threads) {
  const Threads set(3);
  std::atomic<int> bad{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 6; ++t)
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 50; ++repeat) bad += covers_once(500, 10) ? 0 : 1;
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(bad == 0);
}

LOWTIDE_TEST(set_thread_count_refuses_less_than_one_and_caps_the_rest) {
  const Threads set(2);
  bool refused = false;
  try {
    lowtide::set_thread_count(0);
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  CHECK(refused);
  CHECK(lowtide::thread_count() == 2);
  lowtide::set_thread_count(1 << 30);
  CHECK(lowtide::thread_count() == lowtide::max_thread_count);
}

LOWTIDE_TEST(for_each_slice_visits_every_frequency_of_every_row_once) {
  const Threads set(3);
  const std::size_t n = 70, dim = 64, n_blocks = 40, p = 2500, d = 50;
  const std::vector<float> x(n * d, 0.5f), signs(n_blocks * 3 * dim, 1.0f);
  const lowtide::Rows rows{x.data(), static_cast<std::ptrdiff_t>(d), n, d, signs.data(), n_blocks, dim, p};
  std::vector<int> seen(n * p, 0);
  std::atomic<int> misplaced{0};
  lowtide::for_each_slice(rows, [&](const lowtide::Slice& slice) {
    if (slice.first % 64 != 0) ++misplaced;
    for (std::size_t j = 0; j < slice.count; ++j) ++seen[slice.row * p + slice.first + j];
  });
  CHECK(misplaced == 0);
  for (int count : seen) CHECK(count == 1);
}

LOWTIDE_TEST(for_each_slice_gives_the_outputs_at_places_of_rows_times_factors) {
  const Threads set(3);
  const std::size_t n = 70, dim = 64, n_blocks = 40, d = 50, every = n_blocks * dim;
  std::vector<float> x(n * d), factors(d), multiplied(n * d), signs(n_blocks * 3 * dim, 1.0f);
  for (std::size_t j = 0; j < d; ++j) factors[j] = static_cast<float>(j) / 7.0f;
  for (std::size_t i = 0; i < n * d; ++i) {
    x[i] = static_cast<float>(i % 13) / 3.0f - 2.0f;
    multiplied[i] = x[i] * factors[i % d];
  }
  for (std::size_t i = 0; i < signs.size(); i += 3) signs[i] = -1.0f;
  std::vector<std::uint32_t> places;
  for (std::size_t j = 0; j < every; ++j)
    if (j / dim % 3 != 1 && j % 5 < 4) places.push_back(static_cast<std::uint32_t>(j));
  const std::size_t p = places.size();
  std::vector<float> whole(n * every), some(n * p);
  lowtide::Rows rows{multiplied.data(), static_cast<std::ptrdiff_t>(d), n, d, signs.data(), n_blocks, dim, every};
  lowtide::for_each_slice(rows, [&](const lowtide::Slice& slice) {
    std::copy(slice.v, slice.v + slice.count,
              whole.begin() + static_cast<std::ptrdiff_t>(slice.row * every + slice.first));
  });
  rows.x = x.data();
  rows.factors = factors.data();
  rows.places = places.data();
  rows.n_frequencies = p;
  std::atomic<int> misplaced{0};
  std::vector<int> seen(n * p, 0);
  lowtide::for_each_slice(rows, [&](const lowtide::Slice& slice) {
    if (slice.first % 64 != 0) ++misplaced;
    for (std::size_t j = 0; j < slice.count; ++j) ++seen[slice.row * p + slice.first + j];
    std::copy(slice.v, slice.v + slice.count, some.begin() + static_cast<std::ptrdiff_t>(slice.row * p + slice.first));
  });
  CHECK(misplaced == 0);
  for (int count : seen) CHECK(count == 1);
  for (std::size_t row = 0; row < n; ++row)
    for (std::size_t j = 0; j < p; ++j) CHECK(some[row * p + j] == whole[row * every + places[j]]);
}
