// subps and fmadd on 16 lanes; strides 8, 4, 2, 1 by one shuffle and one fmadd with +-1 each; a rotation by one shuffle,
// two products and fmaddsub, its cosines and sines doubled as they are loaded. Sums are fmadd by 1, exact, and on Zen 4 on
// other pipes than subps: 5% of an encoding.
//
// Ports bind: a register takes 3 log2(D) + 1 additions and products, 11 shuffles and a sign, all on two ports, and the
// passes run at 90 to 95% of that. D = 4096 and above also waits for signs and rotations from the second-level cache. A
// row alone cannot do with fewer shuffles: in the first two rounds three index bits lie across lanes, in the last four,
// and a rotation swaps neighbors. No tail: D is a multiple of 64.
#include "lowtide/ops/hadamard/hadamard.hpp"
#include "lowtide/ops/hadamard/passes.hpp"
#include "lowtide/ops/hadamard/rotation.hpp"
#include "lowtide/ops/lanes_avx512.hpp"

namespace lowtide::avx512 {
namespace {

struct V : Lanes {
  static Reg fmsub(Reg a, Reg s, Reg b) { return _mm512_fmsub_ps(a, s, b); }
  static Reg add(Reg a, Reg b) { return fmadd(a, _mm512_set1_ps(1.0f), b); }

  // +1 where the lane's bit is clear, else -1: lane l becomes partner + l or partner - l.
  static Reg sign(int bit) {
    const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __mmask16 set = _mm512_test_epi32_mask(lane, _mm512_set1_epi32(bit));
    return _mm512_mask_blend_ps(set, _mm512_set1_ps(1.0f), _mm512_set1_ps(-1.0f));
  }
  static Reg lane8(Reg a) { return fmadd(a, sign(8), _mm512_shuffle_f32x4(a, a, 0x4e)); }
  static Reg lane4(Reg a) { return fmadd(a, sign(4), _mm512_shuffle_f32x4(a, a, 0xb1)); }
  static Reg lane2(Reg a) { return fmadd(a, sign(2), _mm512_permute_ps(a, 0x4e)); }
  static Reg lane1(Reg a) { return fmadd(a, sign(1), _mm512_permute_ps(a, 0xb1)); }
  static Reg lanes_down_to_2(Reg a) { return lane2(lane4(lane8(a))); }
  static Reg lanes_down(Reg a) { return lane1(lanes_down_to_2(a)); }
  static Reg lanes_up(Reg a) { return lane8(lane4(lane2(a))); }

  // Even lanes become a c - b s, odd ones b c + a s, where c and s lie in turn. There is no addsub: a product with 1 is
  // exact, so fmaddsub rounds as it would.
  static Reg rotate(Reg a, const float* rotations) {
    const Reg c = _mm512_moveldup_ps(load(rotations)), s = _mm512_movehdup_ps(load(rotations));
    return _mm512_fmaddsub_ps(mul(a, c), _mm512_set1_ps(1.0f), mul(_mm512_permute_ps(a, 0xb1), s));
  }
  // Even lanes become a c + b s, odd ones b c - a s.
  static Reg rotate_back(Reg a, const float* rotations) {
    const Reg c = _mm512_moveldup_ps(load(rotations)), s = _mm512_movehdup_ps(load(rotations));
    return _mm512_fmsubadd_ps(mul(a, c), _mm512_set1_ps(1.0f), mul(_mm512_permute_ps(a, 0xb1), s));
  }
};

namespace p = hadamard_passes;

void one_block(const float* x, p::Ahead<V>& ahead, const float* drawn, std::size_t dim, std::size_t n_used, float* v) {
  if (dim == 64) return p::whole<V, 4, 1>(x, drawn, v);
  if (dim == 128) return p::whole<V, 8, 1>(x, drawn, v);
  p::chunked<V, 16, 16>(x, ahead, drawn, dim, n_used, v);
}

}  // namespace

void hadamard(const float* x, const float* next, const float* blocks, std::size_t dim, std::size_t n_blocks,
              std::size_t n_last, float* v) {
  p::Ahead<V> ahead(next, dim);
  std::size_t b = 0;
  if (dim == 64)
    for (; b + 4 <= n_blocks; b += 4) p::whole<V, 4, 4>(x, blocks + 3 * dim * b, v + dim * b);
  if (dim == 128)
    for (; b + 2 <= n_blocks; b += 2) p::whole<V, 8, 2>(x, blocks + 3 * dim * b, v + dim * b);
  for (; b < n_blocks; ++b)
    one_block(x, ahead, blocks + 3 * dim * b, dim, b + 1 == n_blocks ? n_last : dim, v + dim * b);
}

void hadamard_transpose(float* v, const float* blocks, std::size_t dim, std::size_t n_blocks, float* out) {
  std::size_t b = 0;
  if (dim == 64)
    for (; b + 4 <= n_blocks; b += 4) p::whole_transpose<V, 4, 4>(v + dim * b, blocks + 3 * dim * b, out);
  if (dim == 128)
    for (; b + 2 <= n_blocks; b += 2) p::whole_transpose<V, 8, 2>(v + dim * b, blocks + 3 * dim * b, out);
  for (; b < n_blocks; ++b) {
    const float* drawn = blocks + 3 * dim * b;
    if (dim == 64)
      p::whole_transpose<V, 4, 1>(v + dim * b, drawn, out);
    else if (dim == 128)
      p::whole_transpose<V, 8, 1>(v + dim * b, drawn, out);
    else
      p::chunked_transpose<V, 16, 16>(v + dim * b, drawn, dim, out);
  }
}

void rotation(const float* x, const float* drawn, std::size_t d, std::size_t n_rounds, float* v) {
  p::rotation<V, 16>(x, drawn, d, n_rounds, v);
}

}  // namespace lowtide::avx512
