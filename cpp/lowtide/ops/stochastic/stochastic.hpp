// encode_stochastic: projected values to levels by rounding the cosine up or down at random.
//
// With t = v[j] * scale[j] + offset[j] and u = t + shifts[k] as in encode, f = u - floor(u), f = f < 1 ? f : 0, and
// c = cosine(f - rint(f)) (see features/cosine.hpp), component i = first + j * width + k becomes
//     level = floor((c + 1) * steps + r), clipped to 0 .. 2^bits - 1,      steps = (2^bits - 1) / 2
// so level l stands for -1 + l / steps and its expectation over r is c. r in [0, 1) is drawn by a hash of the seed, the
// component and the phase, so a row gives the same levels in any batch. On 32-bit words, wrapping:
//     mix(h):  h ^= h >> 16;  h *= 0x85ebca6b;  h ^= h >> 13;  h *= 0xc2b2ae35;  h ^= h >> 16
//     key = mix(mix(i ^ low half of seed) + high half of seed);   hash = mix(key ^ bits of f as a float32)
//     r = (hash >> 8) / 2^24
// For one seed different components have different keys, mix being a bijection. All levels give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lowtide {

struct StochasticRule {
  unsigned width;
  const float* shifts;
  unsigned bits;
  std::uint64_t seed;
};

// levels: (n * width,) bytes.
using EncodeStochasticFn = void (*)(const float* v, std::size_t n, const float* scale, const float* offset,
                                    const StochasticRule& rule, std::uint32_t first, std::uint8_t* levels);

namespace scalar {
void encode_stochastic(const float* v, std::size_t n, const float* scale, const float* offset,
                       const StochasticRule& rule, std::uint32_t first, std::uint8_t* levels);
}
namespace avx2 {
void encode_stochastic(const float* v, std::size_t n, const float* scale, const float* offset,
                       const StochasticRule& rule, std::uint32_t first, std::uint8_t* levels);
}
namespace avx512 {
void encode_stochastic(const float* v, std::size_t n, const float* scale, const float* offset,
                       const StochasticRule& rule, std::uint32_t first, std::uint8_t* levels);
}
namespace neon {
void encode_stochastic(const float* v, std::size_t n, const float* scale, const float* offset,
                       const StochasticRule& rule, std::uint32_t first, std::uint8_t* levels);
}

}  // namespace lowtide
