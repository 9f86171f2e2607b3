#include <nanobind/nanobind.h>

#include <algorithm>

#include "bytes.hpp"
#include "lowtide/ops.hpp"
#include "unlocked.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace lowtide {
namespace {

// Some milliseconds by tables.
constexpr std::size_t block_bytes = std::size_t{1} << 22;
// Some microseconds by tables.
constexpr std::size_t small_bytes = std::size_t{1} << 13;

std::uint32_t checksum(nb::handle buffer, std::uint32_t value) {
  const Bytes bytes(buffer);
  // A message of a row or two: to let the lock go and be watched would take ten times as long as the sum.
  if (bytes.size() <= small_bytes) return ops().crc32c(value, bytes.data(), bytes.size());
  const Unlocked unlocked;
  for (std::size_t at = 0; at < bytes.size(); at += block_bytes) {
    if (at != 0) poll();
    value = ops().crc32c(value, bytes.data() + at, std::min(block_bytes, bytes.size() - at));
  }
  return value;
}

}  // namespace

void bind_checksum(nb::module_& m) {
  m.def("crc32c", &checksum, "buffer"_a, "value"_a, "crc32c of the bytes, continued from the sum `value`.");
}

}  // namespace lowtide
