// hadamard: signs, rotations of neighbors and fast Walsh-Hadamard transforms, v = H S3 G R G S1 x for each block of D
// outputs.
//
// H is the unnormalized D x D Walsh-Hadamard matrix, H[i][j] = (-1)^popcount(i & j); D is a power of two, at least 64.
// G is H without its stage of stride 1. S1, S3 are diagonal, entries +1 or -1; R rotates each pair of neighbors. With
// r(t) the rotation by t and h = [[1, 1], [1, -1]], h r(t) h = 2 r(-t): so G R G is half of H R' H, R' turning the other
// way, and the stages of stride 1 around the rotation are not run at all. The rows of H S3 G R G S1 are orthogonal, of
// length D^(3/2) / 2.
//
// The order of the float32 operations is part of the contract: every level gives the same bits, in any batch. The stage
// of stride h replaces, for every i with i & h == 0,
//     (v[i], v[i + h])  by  (v[i] + v[i + h], v[i] - v[i + h]),
// and the rotation, for every even i,
//     (v[i], v[i + 1])  by  (v[i] c - v[i + 1] s, v[i] s + v[i + 1] c),
// each product rounded before it is added to or subtracted from: no fused operation. The order is: signs S1; strides
// D/2, D/4, ..., 2; the rotation; strides 2, 4, ..., D/2; signs S3; strides D/2, ..., 2, 1. Down, up and down, so that
// the end of a round and the start of the next touch the same entries and stay in registers; round 3 goes down so that
// its first stages can drop outputs that nobody reads.
//
// x: (D,) floats, the caller has padded a shorter input with zeros. next: where the input after this one lies, so that
// it is on its way from memory while this one is worked on; any address, never read. blocks: (n_blocks, 3, D), of each
// block S1, then c and s of each pair in turn, then S3. v: (n_blocks * D,) floats aligned to 64 bytes, block b at
// v + b * D, not overlapping x. It is also the work space: of the last block only the first n_last (1..D) entries are
// results, the rest is unspecified. No tail: D is a multiple of 64. Entries grow up to 0.36 D^3 |x|; beyond the range of
// float32 they become infinite or NaN, as arithmetic has it.
//
// hadamard_transpose: the transposed blocks, out += S1 G R' G S3 H v summed over blocks, from D values a block back to
// one row of D, R' turning the other way. The order is: strides D/2, ..., 2, 1; signs S3; strides 2, 4, ..., D/2; the
// rotation, for every even i
//     (v[i], v[i + 1])  by  (v[i] c + v[i + 1] s, v[i + 1] c - v[i] s),
// each product rounded on its own; strides D/2, ..., 2; and out[i] + S1[i] v[i], the blocks one after the other. Every
// level gives the same bits. blocks as above. v: (n_blocks * D,) floats aligned to 64 bytes, work space at the end. out:
// (D,) floats, not overlapping v.
//
// rotation: a square orthogonal transform of any d >= 1, v = T_k ... R_2 T_2 R_1 T_1 x. T_r multiplies every entry by a
// factor of its own and transforms a block of P entries, P the largest power of two that is at most d: the leading block
// in rounds 1, 3, ..., the trailing one in rounds 2, 4, ... With factors of size P^(-1/2) within the block and 1 outside,
// of any signs, it is orthogonal. R_r turns the pairs (i, i + h), h = floor(d / 2), i < h. The order is: factors; strides
// P/2, ..., 2, 1; and the rotation, for every i < h
//     (v[i], v[i + h])  by  (v[i] c[i] - v[i + h] s[i], v[i] s[i] + v[i + h] c[i]),
// each product rounded on its own. Every level gives the same bits.
// x: (d,) floats. drawn: (2 n_rounds - 1, d), of each round its factors, and between two rounds c, then s, h of each.
// v: (d,) floats, not overlapping x. Tail: entries past the last whole register one by one.
#pragma once

#include <cstddef>

namespace lowtide {

using HadamardFn = void (*)(const float* x, const float* next, const float* blocks, std::size_t dim,
                            std::size_t n_blocks, std::size_t n_last, float* v);
using RotationFn = void (*)(const float* x, const float* drawn, std::size_t d, std::size_t n_rounds, float* v);
using HadamardTransposeFn = void (*)(float* v, const float* blocks, std::size_t dim, std::size_t n_blocks, float* out);

namespace scalar {
void hadamard(const float* x, const float* next, const float* blocks, std::size_t dim, std::size_t n_blocks,
              std::size_t n_last, float* v);
void hadamard_transpose(float* v, const float* blocks, std::size_t dim, std::size_t n_blocks, float* out);
void rotation(const float* x, const float* drawn, std::size_t d, std::size_t n_rounds, float* v);
}  // namespace scalar
namespace avx2 {
void hadamard(const float* x, const float* next, const float* blocks, std::size_t dim, std::size_t n_blocks,
              std::size_t n_last, float* v);
void hadamard_transpose(float* v, const float* blocks, std::size_t dim, std::size_t n_blocks, float* out);
void rotation(const float* x, const float* drawn, std::size_t d, std::size_t n_rounds, float* v);
}  // namespace avx2
namespace avx512 {
void hadamard(const float* x, const float* next, const float* blocks, std::size_t dim, std::size_t n_blocks,
              std::size_t n_last, float* v);
void hadamard_transpose(float* v, const float* blocks, std::size_t dim, std::size_t n_blocks, float* out);
void rotation(const float* x, const float* drawn, std::size_t d, std::size_t n_rounds, float* v);
}  // namespace avx512
namespace neon {
void hadamard(const float* x, const float* next, const float* blocks, std::size_t dim, std::size_t n_blocks,
              std::size_t n_last, float* v);
void hadamard_transpose(float* v, const float* blocks, std::size_t dim, std::size_t n_blocks, float* out);
void rotation(const float* x, const float* drawn, std::size_t d, std::size_t n_rounds, float* v);
}  // namespace neon

}  // namespace lowtide
