// The bytes of any object that has them in one piece.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>

namespace lowtide {

// The bytes of an object for as long as this lives. A plain view rather than an array type: bytes, memory maps and
// arrays of any shape and type are all the same here.
class Bytes {
 public:
  explicit Bytes(nanobind::handle owner) {
    if (PyObject_GetBuffer(owner.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nanobind::python_error();
  }
  ~Bytes() { PyBuffer_Release(&view_); }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  const std::uint8_t* data() const { return static_cast<const std::uint8_t*>(view_.buf); }
  std::size_t size() const { return static_cast<std::size_t>(view_.len); }

 private:
  Py_buffer view_;
};

}  // namespace lowtide
