// fadd and fsub on 4 lanes; strides 2 and 1 by one permutation (ext, rev64) and one fmla with +-1 each. 32 registers
// hold chunks of 16, so that six strides meet in a pass. A rotation is two permutations of its cosines and sines, one of
// the values, two products and an fmla by +-1, which is exact. Binds: the two or four vector pipes. No tail: D is a
// multiple of 64.
#include <arm_neon.h>

#include "lowtide/ops/hadamard/hadamard.hpp"
#include "lowtide/ops/hadamard/passes.hpp"
#include "lowtide/ops/hadamard/rotation.hpp"

namespace lowtide::neon {
namespace {

struct V {
  using Reg = float32x4_t;
  static constexpr std::size_t width = 4;
  static Reg load(const float* p) { return vld1q_f32(p); }
  static void store(float* p, Reg a) { vst1q_f32(p, a); }
  static Reg add(Reg a, Reg b) { return vaddq_f32(a, b); }
  static Reg sub(Reg a, Reg b) { return vsubq_f32(a, b); }
  static Reg mul(Reg a, Reg b) { return vmulq_f32(a, b); }
  static Reg fmadd(Reg a, Reg s, Reg b) { return vfmaq_f32(b, a, s); }
  static Reg fmsub(Reg a, Reg s, Reg b) { return sub(mul(a, s), b); }

  // The lane with the bit clear becomes lane + partner, the one with the bit set partner - lane.
  static Reg lane2(Reg a) { return fmadd(a, Reg{1, 1, -1, -1}, vextq_f32(a, a, 2)); }
  static Reg lane1(Reg a) { return fmadd(a, Reg{1, -1, 1, -1}, vrev64q_f32(a)); }
  static Reg lanes_down_to_2(Reg a) { return lane2(a); }
  static Reg lanes_down(Reg a) { return lane1(lane2(a)); }
  static Reg lanes_up(Reg a) { return lane2(a); }

  // Even lanes become a c - b s, odd ones b c + a s, where c and s lie in turn; with other signs a c + b s, b c - a s.
  static Reg turned(Reg a, const float* rotations, Reg signs) {
    const Reg pairs = load(rotations), c = vtrn1q_f32(pairs, pairs), s = vtrn2q_f32(pairs, pairs);
    return fmadd(mul(vrev64q_f32(a), s), signs, mul(a, c));
  }
  static Reg rotate(Reg a, const float* rotations) { return turned(a, rotations, Reg{-1, 1, -1, 1}); }
  static Reg rotate_back(Reg a, const float* rotations) { return turned(a, rotations, Reg{1, -1, 1, -1}); }
};

namespace p = hadamard_passes;

}  // namespace

void hadamard(const float* x, const float* next, const float* blocks, std::size_t dim, std::size_t n_blocks,
              std::size_t n_last, float* v) {
  p::Ahead<V> ahead(next, dim);
  for (std::size_t b = 0; b < n_blocks; ++b)
    p::chunked<V, 16, 16>(x, ahead, blocks + 3 * dim * b, dim, b + 1 == n_blocks ? n_last : dim, v + dim * b);
}

void hadamard_transpose(float* v, const float* blocks, std::size_t dim, std::size_t n_blocks, float* out) {
  for (std::size_t b = 0; b < n_blocks; ++b)
    p::chunked_transpose<V, 16, 16>(v + dim * b, blocks + 3 * dim * b, dim, out);
}

void rotation(const float* x, const float* drawn, std::size_t d, std::size_t n_rounds, float* v) {
  p::rotation<V, 16>(x, drawn, d, n_rounds, v);
}

}  // namespace lowtide::neon
