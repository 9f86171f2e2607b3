// The best k of scored rows, whatever order they come in: higher scores first, equal ones by lower index.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "lowtide/cancel.hpp"

namespace lowtide {

struct Scored {
  float score;
  std::int64_t index;
};

// A total order on rows of different index: no result depends on threads or blocks.
inline bool better(const Scored& a, const Scored& b) {
  return a.score > b.score || (a.score == b.score && a.index < b.index);
}

class Best {
 public:
  // Rows that are pushed or sorted between two polls.
  static constexpr std::size_t block = 4096;

  explicit Best(std::size_t k) : k_(k) {}

  // Only a score above this can be taken from a row after all those seen; minus infinity while there is room.
  float worst() const { return heap_.size() < k_ ? -std::numeric_limits<float>::infinity() : heap_.front().score; }
  bool full() const { return heap_.size() == k_; }

  // Whether the row was taken.
  bool push(const Scored& row) {
    if (full()) {
      if (!better(row, heap_.front())) return false;
      std::pop_heap(heap_.begin(), heap_.end(), better);
      heap_.back() = row;
    } else {
      heap_.push_back(row);
    }
    std::push_heap(heap_.begin(), heap_.end(), better);
    return true;
  }

  const std::vector<Scored>& rows() const { return heap_; }

  // The rows from best to worst; the heap is used up.
  const std::vector<Scored>& sorted() {
    polled_blocks(0, heap_.size(), block, [this](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i)
        std::pop_heap(heap_.begin(), heap_.end() - static_cast<std::ptrdiff_t>(i), better);
    });
    return heap_;
  }

 private:
  std::size_t k_;
  std::vector<Scored> heap_;
};

}  // namespace lowtide
