#include <nanobind/nanobind.h>

#include <algorithm>

#include "lowtide/ops.hpp"
#include "unlocked.hpp"

namespace nb = nanobind;
using namespace nanobind::literals;

namespace lowtide {
namespace {

// The bytes of an object for as long as this lives. A plain view rather than an array type: bytes, memory maps and
// arrays of any shape and type are all the same here.
class Bytes {
 public:
  explicit Bytes(nb::handle owner) {
    if (PyObject_GetBuffer(owner.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~Bytes() { PyBuffer_Release(&view_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  const std::uint8_t* data() const { return static_cast<const std::uint8_t*>(view_.buf); }
  std::size_t size() const { return static_cast<std::size_t>(view_.len); }

 private:
  Py_buffer view_;
};

// Some milliseconds by tables.
constexpr std::size_t block_bytes = std::size_t{1} << 22;

std::uint32_t checksum(nb::handle buffer, std::uint32_t value) {
  const Bytes bytes(buffer);
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
