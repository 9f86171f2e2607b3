// crc32 of SSE4.2; what binds and how the tail is done: see streams.hpp.
#include <nmmintrin.h>

#include "lowtide/ops/crc32c/streams.hpp"

namespace lowtide::avx2 {
namespace {

struct V {
  using State = std::uint64_t;
  static State word(State state, std::uint64_t more) { return _mm_crc32_u64(state, more); }
  static State byte(State state, std::uint8_t more) { return _mm_crc32_u8(static_cast<std::uint32_t>(state), more); }
};

}  // namespace

std::uint32_t crc32c(std::uint32_t sum, const std::uint8_t* data, std::size_t n) {
  return crc32c_streams::Streams<V>::sum(sum, data, n);
}

}  // namespace lowtide::avx2
