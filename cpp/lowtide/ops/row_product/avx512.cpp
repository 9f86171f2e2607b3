// The bits of a word are masks as they are; fmadd takes the weights from memory.
#include "lowtide/ops/lanes_avx512.hpp"
#include "lowtide/ops/row_product/lanes.hpp"

namespace lowtide::avx512 {
namespace {

struct Floats : Lanes {
  using T = float;
  using Word = std::uint64_t;
  static Word spread(std::uint64_t word) { return word; }
  static Word next(Word word) { return word >> 16; }
  static Reg choose(Word word, Reg low, Reg high) {
    return _mm512_mask_blend_ps(static_cast<__mmask16>(word), low, high);
  }
};

struct Doubles {
  using T = double;
  using Reg = __m512d;
  using Word = std::uint64_t;
  static constexpr std::size_t width = 8;
  static Reg load(const double* p) { return _mm512_loadu_pd(p); }
  static void store(double* p, Reg a) { _mm512_storeu_pd(p, a); }
  static Reg all(float a) { return _mm512_set1_pd(a); }
  static Reg add(Reg a, Reg b) { return _mm512_add_pd(a, b); }
  static Reg fmadd(Reg a, Reg b, Reg c) { return _mm512_fmadd_pd(a, b, c); }
  static double sum(Reg a) { return _mm512_reduce_add_pd(a); }
  static Word spread(std::uint64_t word) { return word; }
  static Word next(Word word) { return word >> 8; }
  static Reg choose(Word word, Reg low, Reg high) {
    return _mm512_mask_blend_pd(static_cast<__mmask8>(word), low, high);
  }
};

}  // namespace

void row_product(const RowProduct<float>& product) { row_lanes::row_product<Floats>(product, decode.f32); }
void row_product(const RowProduct<double>& product) { row_lanes::row_product<Doubles>(product, decode.f64); }

}  // namespace lowtide::avx512
