// hadamard: signs and fast Walsh-Hadamard transforms, v = H S3 H S2 H S1 x for each block of D outputs.
//
// H is the unnormalized D x D Walsh-Hadamard matrix, H[i][j] = (-1)^popcount(i & j); D is a power of two, at least 64.
// S1, S2, S3 are diagonal, entries +1 or -1.
//
// The order of the float32 additions is part of the contract: every level gives the same bits, in any batch. A round
// multiplies entry i by its sign, then runs log2(D) stages. The stage of stride h replaces, for every i with i & h ==
// 0,
//     (v[i], v[i + h])  by  (v[i] + v[i + h], v[i] - v[i + h]).
// Round 1 (S1) takes the strides D/2, D/4, ..., 2, 1; round 2 (S2) takes 1, 2, ..., D/2; round 3 (S3) D/2, ..., 2, 1.
// Up and down in turn, so that the end of a round and the start of the next touch the same entries and stay in
// registers; round 3 goes down so that its first stages can drop outputs that nobody reads.
//
// x: (D,) floats, the caller has padded a shorter input with zeros. next: where the input after this one lies, so that
// it is on its way from memory while this one is worked on; any address, never read. signs: (n_blocks, 3, D), in the
// order S1, S2, S3. v: (n_blocks * D,) floats aligned to 64 bytes, block b at v + b * D, not overlapping x. It is also
// the work space: of the last block only the first n_last (1..D) entries are results, the rest is unspecified. No tail:
// D is a multiple of 64. Entries grow up to D^3 |x|; beyond the range of float32 they become infinite or NaN, as
// addition has it.
#pragma once

#include <cstddef>

namespace lowtide {

using HadamardFn = void (*)(const float* x, const float* next, const float* signs, std::size_t dim,
                            std::size_t n_blocks, std::size_t n_last, float* v);

namespace scalar {
void hadamard(const float* x, const float* next, const float* signs, std::size_t dim, std::size_t n_blocks,
              std::size_t n_last, float* v);
}
namespace avx2 {
void hadamard(const float* x, const float* next, const float* signs, std::size_t dim, std::size_t n_blocks,
              std::size_t n_last, float* v);
}
namespace avx512 {
void hadamard(const float* x, const float* next, const float* signs, std::size_t dim, std::size_t n_blocks,
              std::size_t n_last, float* v);
}

}  // namespace lowtide
