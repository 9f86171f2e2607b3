#include <nanobind/nanobind.h>

#include <algorithm>

#include "bytes.hpp"
#include "checks.hpp"
#include "lowtide/ops.hpp"
#include "lowtide/row_sums.hpp"
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

void sum_rows(Matrix<const std::uint32_t> words, Matrix<const std::uint64_t> factors, Matrix<std::uint64_t> sums) {
  require(factors.shape(0) == words.shape(1) && factors.shape(1) == 2, "factors must be (n_words, 2)");
  require(sums.shape(0) == words.shape(0) && sums.shape(1) == 2, "sums must be (n_rows, 2)");
  check_aligned(words, "words must start at a multiple of 4 bytes");
  check_aligned(factors, "factors must start at a multiple of 8 bytes");
  check_aligned(sums, "sums must start at a multiple of 8 bytes");
  const Unlocked unlocked;
  row_sums(words.data(), words.shape(0), words.shape(1), factors.data(), sums.data());
}

}  // namespace

void bind_checksum(nb::module_& m) {
  m.def("crc32c", &checksum, "buffer"_a, "value"_a, "crc32c of the bytes, continued from the sum `value`.");
  m.def("row_sums", &sum_rows, "words"_a.noconvert(), "factors"_a.noconvert(), "sums"_a.noconvert(),
        "Writes words @ factors modulo 2^64.");
}

}  // namespace lowtide
