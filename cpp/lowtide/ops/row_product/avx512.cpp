// The bits of a word are masks as they are; fmadd takes the weights from memory.
#include <immintrin.h>

#include "lowtide/ops/decode/decode.hpp"
#include "lowtide/ops/row_product/lanes.hpp"

namespace lowtide::avx512 {
namespace {

struct Word {
  using Bits = std::uint64_t;
  static Bits bits(std::uint64_t word) { return word; }
};

struct Doubles : Word {
  using T = double;
  using Reg = __m512d;
  static constexpr std::size_t width = 8;
  static Reg all(float a) { return _mm512_set1_pd(a); }
  static Reg load(const double* p) { return _mm512_loadu_pd(p); }
  static void store(double* p, Reg a) { _mm512_store_pd(p, a); }
  static Reg add(Reg a, Reg b) { return _mm512_add_pd(a, b); }
  static Reg fmadd(Reg a, Reg b, Reg c) { return _mm512_fmadd_pd(a, b, c); }
  static double sum(Reg a) { return _mm512_reduce_add_pd(a); }
  static Bits next(Bits bits) { return bits >> 8; }
  static Reg choose(Bits bits, Reg low, Reg high) {
    return _mm512_mask_blend_pd(static_cast<__mmask8>(bits), low, high);
  }
  static void decode(const std::uint64_t* row, std::size_t n, unsigned bits, const float* book, std::size_t w, T* out) {
    avx512::decode(row, n, bits, book, w, out);
  }
};

struct Floats : Word {
  using T = float;
  using Reg = __m512;
  static constexpr std::size_t width = 16;
  static Reg all(float a) { return _mm512_set1_ps(a); }
  static Reg load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Reg a) { _mm512_store_ps(p, a); }
  static Reg add(Reg a, Reg b) { return _mm512_add_ps(a, b); }
  static Reg fmadd(Reg a, Reg b, Reg c) { return _mm512_fmadd_ps(a, b, c); }
  static float sum(Reg a) { return _mm512_reduce_add_ps(a); }
  static Bits next(Bits bits) { return bits >> 16; }
  static Reg choose(Bits bits, Reg low, Reg high) {
    return _mm512_mask_blend_ps(static_cast<__mmask16>(bits), low, high);
  }
  static void decode(const std::uint64_t* row, std::size_t n, unsigned bits, const float* book, std::size_t w, T* out) {
    avx512::decode(row, n, bits, book, w, out);
  }
};

}  // namespace

void row_product(const RowProduct<float>& product) { row_lanes::row_product<Floats>(product); }
void row_product(const RowProduct<double>& product) { row_lanes::row_product<Doubles>(product); }

}  // namespace lowtide::avx512
