// crc32c: the cyclic redundancy check of Castagnoli's polynomial, as in iSCSI, ext4 and Zarr.
//
// Bits run from the lowest of each byte; the register starts as all ones and is inverted at the end. `sum` is what a
// former call returned for the bytes before these, or 0: crc32c(crc32c(0, a), b) is the sum of a followed by b. Any n,
// any alignment; no byte outside [data, data + n) is read. All levels give the same sum.
//
// Every error of up to 32 bits in a row is found, so each flipped bit is; of other errors one in 2^32 passes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lowtide {

using Crc32cFn = std::uint32_t (*)(std::uint32_t sum, const std::uint8_t* data, std::size_t n);

namespace scalar {
std::uint32_t crc32c(std::uint32_t sum, const std::uint8_t* data, std::size_t n);
}
namespace avx2 {
std::uint32_t crc32c(std::uint32_t sum, const std::uint8_t* data, std::size_t n);
}
namespace neon {
std::uint32_t crc32c(std::uint32_t sum, const std::uint8_t* data, std::size_t n);
}

}  // namespace lowtide
