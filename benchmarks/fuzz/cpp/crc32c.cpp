// Any bytes, cut anywhere: the checksum is the same at every level and continued from every cut.
#include <cstdint>
#include <cstdlib>

#include "lowtide/isa.hpp"
#include "lowtide/ops.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::size_t cut = size == 0 ? 0 : data[0] % size;
  const std::uint32_t expected = lowtide::ops_at(lowtide::Isa::scalar).crc32c(0, data, size);
  for (lowtide::Isa level : lowtide::all_levels()) {
    if (!level.runs_on(lowtide::detected_isa())) continue;
    const auto crc32c = lowtide::ops_at(level).crc32c;
    if (crc32c(0, data, size) != expected) std::abort();
    if (crc32c(crc32c(0, data, cut), data + cut, size - cut) != expected) std::abort();
  }
  return 0;
}
