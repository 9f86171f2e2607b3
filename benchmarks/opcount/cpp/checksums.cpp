// Sums over stored bytes: crc32c.
#include "cases.hpp"
#include "inputs.hpp"

namespace lowtide::opcount {

void add_checksums(Cases& cases) {
  constexpr std::size_t n = 16384;
  cases.push_back({"crc32c", n, "byte", [](const Ops& ops) {
                     const auto data = integers<std::uint8_t>(n, 256, 1);
                     const auto sum = zeros<std::uint32_t>(1);
                     return [=, &ops] { sum[0] = ops.crc32c(0, data.get(), n); };
                   }});
}

}  // namespace lowtide::opcount
