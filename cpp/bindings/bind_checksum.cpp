#include <nanobind/nanobind.h>

#include "bytes.hpp"
#include "lowtide/ops.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace lowtide {
namespace {

std::uint32_t checksum(nb::handle buffer, std::uint32_t value) {
  const Bytes bytes(buffer);
  nb::gil_scoped_release nogil;
  return ops().crc32c(value, bytes.data(), bytes.size());
}

}  // namespace

void bind_checksum(nb::module_& m) {
  m.def("crc32c", &checksum, "buffer"_a, "value"_a, "crc32c of the bytes, continued from the sum `value`.");
}

}  // namespace lowtide
