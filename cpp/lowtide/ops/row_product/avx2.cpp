// A bit is shifted to the sign of its lane, where blendv reads it; fmadd takes the weights from memory.
#include "lowtide/ops/lanes_avx2.hpp"
#include "lowtide/ops/row_product/lanes.hpp"

namespace lowtide::avx2 {
namespace {

struct Floats : Lanes {
  using T = float;
  using Word = __m256i;
  static Word spread(std::uint64_t word) { return _mm256_set1_epi64x(static_cast<long long>(word)); }
  static Word next(Word word) { return _mm256_srli_epi64(word, 8); }
  static Reg choose(Word word, Reg low, Reg high) {
    const __m256i lowest = _mm256_shuffle_epi32(word, 0xa0);
    const __m256i signs = _mm256_sllv_epi32(lowest, _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24));
    return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(signs));
  }
};

struct Doubles {
  using T = double;
  using Reg = __m256d;
  using Word = __m256i;
  static constexpr std::size_t width = 4;
  static Reg load(const double* p) { return _mm256_loadu_pd(p); }
  static void store(double* p, Reg a) { _mm256_storeu_pd(p, a); }
  static Reg all(float a) { return _mm256_set1_pd(a); }
  static Reg add(Reg a, Reg b) { return _mm256_add_pd(a, b); }
  static Reg fmadd(Reg a, Reg b, Reg c) { return _mm256_fmadd_pd(a, b, c); }
  static double sum(Reg a) {
    const __m128d half = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)));
  }
  static Word spread(std::uint64_t word) { return Floats::spread(word); }
  static Word next(Word word) { return _mm256_srli_epi64(word, 4); }
  static Reg choose(Word word, Reg low, Reg high) {
    const __m256i signs = _mm256_sllv_epi64(word, _mm256_setr_epi64x(63, 62, 61, 60));
    return _mm256_blendv_pd(low, high, _mm256_castsi256_pd(signs));
  }
};

}  // namespace

void row_product(const RowProduct<float>& product) { row_lanes::row_product<Floats>(product, decode.f32); }
void row_product(const RowProduct<double>& product) { row_lanes::row_product<Doubles>(product, decode.f64); }

}  // namespace lowtide::avx2
