// Scratch memory of an op: not initialized, at a multiple of 64 bytes so that no vector load straddles a cache line.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace lowtide {

struct AlignedDelete {
  void operator()(void* p) const { ::operator delete(p, std::align_val_t{64}); }
};

template <typename T>
using Buffer = std::unique_ptr<T[], AlignedDelete>;

template <typename T>
Buffer<T> make_buffer(std::size_t n) {
  return Buffer<T>(static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{64})));
}

}  // namespace lowtide
