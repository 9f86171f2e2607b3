// crc32cx of the CRC32 extension; what binds and how the tail is done: see streams.hpp.
#include <arm_acle.h>

#include "lowtide/ops/crc32c/streams.hpp"

namespace lowtide::neon {
namespace {

struct V {
  using State = std::uint32_t;
  static State word(State state, std::uint64_t more) { return __crc32cd(state, more); }
  static State byte(State state, std::uint8_t more) { return __crc32cb(state, more); }
};

}  // namespace

std::uint32_t crc32c(std::uint32_t sum, const std::uint8_t* data, std::size_t n) {
  return crc32c_streams::Streams<V>::sum(sum, data, n);
}

}  // namespace lowtide::neon
