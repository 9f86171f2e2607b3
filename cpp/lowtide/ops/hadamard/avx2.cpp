// subps and fmadd on 8 lanes; strides 4, 2, 1 by one shuffle and one fmadd with +-1 each. Sums are fmadd by 1, exact
// and on other ports than subps: worth up to 10%. A rotation is one shuffle, two products and addsubps; its cosines and
// sines are doubled as they are loaded.
//
// Ports bind (3 log2(D) + 1 additions and products, a sign and 8 shuffles a register on three ports, reached to 80%),
// then the latency of the stages, since 16 registers hold only one chunk. No tail: D is a multiple of 64.
#include "lowtide/ops/hadamard/hadamard.hpp"
#include "lowtide/ops/hadamard/passes.hpp"
#include "lowtide/ops/hadamard/rotation.hpp"
#include "lowtide/ops/lanes_avx2.hpp"

namespace lowtide::avx2 {
namespace {

struct V : Lanes {
  static Reg add(Reg a, Reg b) { return _mm256_fmadd_ps(a, _mm256_set1_ps(1.0f), b); }
  static Reg fmsub(Reg a, Reg s, Reg b) { return _mm256_fmsub_ps(a, s, b); }

  // The lane with the bit clear becomes lane + partner, the one with the bit set partner - lane.
  static Reg lane4(Reg a) {
    return fmadd(a, _mm256_setr_ps(1, 1, 1, 1, -1, -1, -1, -1), _mm256_permute2f128_ps(a, a, 0x01));
  }
  static Reg lane2(Reg a) { return fmadd(a, _mm256_setr_ps(1, 1, -1, -1, 1, 1, -1, -1), _mm256_permute_ps(a, 0x4e)); }
  static Reg lane1(Reg a) { return fmadd(a, _mm256_setr_ps(1, -1, 1, -1, 1, -1, 1, -1), _mm256_permute_ps(a, 0xb1)); }
  static Reg lanes_down_to_2(Reg a) { return lane2(lane4(a)); }
  static Reg lanes_down(Reg a) { return lane1(lanes_down_to_2(a)); }
  static Reg lanes_up(Reg a) { return lane4(lane2(a)); }

  // Even lanes become a c - b s, odd ones b c + a s, where c and s lie in turn.
  static Reg rotate(Reg a, const float* rotations) {
    const Reg c = _mm256_moveldup_ps(load(rotations)), s = _mm256_movehdup_ps(load(rotations));
    return _mm256_addsub_ps(mul(a, c), mul(_mm256_permute_ps(a, 0xb1), s));
  }
  // Even lanes become a c + b s, odd ones b c - a s; a product with 1 is exact.
  static Reg rotate_back(Reg a, const float* rotations) {
    const Reg c = _mm256_moveldup_ps(load(rotations)), s = _mm256_movehdup_ps(load(rotations));
    return _mm256_fmsubadd_ps(mul(a, c), _mm256_set1_ps(1.0f), mul(_mm256_permute_ps(a, 0xb1), s));
  }
};

namespace p = hadamard_passes;

// Chunks of 16 registers where they save a pass over the block.
void one_block(const float* x, p::Ahead<V>& ahead, const float* drawn, std::size_t dim, std::size_t n_used, float* v) {
  if (dim == 128 || dim == 1024) return p::chunked<V, 16, 8>(x, ahead, drawn, dim, n_used, v);
  p::chunked<V, 8, 8>(x, ahead, drawn, dim, n_used, v);
}

}  // namespace

void hadamard(const float* x, const float* next, const float* blocks, std::size_t dim, std::size_t n_blocks,
              std::size_t n_last, float* v) {
  p::Ahead<V> ahead(next, dim);
  for (std::size_t b = 0; b < n_blocks; ++b)
    one_block(x, ahead, blocks + 3 * dim * b, dim, b + 1 == n_blocks ? n_last : dim, v + dim * b);
}

void hadamard_transpose(float* v, const float* blocks, std::size_t dim, std::size_t n_blocks, float* out) {
  for (std::size_t b = 0; b < n_blocks; ++b) {
    const float* drawn = blocks + 3 * dim * b;
    if (dim == 128 || dim == 1024)
      p::chunked_transpose<V, 16, 8>(v + dim * b, drawn, dim, out);
    else
      p::chunked_transpose<V, 8, 8>(v + dim * b, drawn, dim, out);
  }
}

void rotation(const float* x, const float* drawn, std::size_t d, std::size_t n_rounds, float* v) {
  p::rotation<V, 8>(x, drawn, d, n_rounds, v);
}

}  // namespace lowtide::avx2
