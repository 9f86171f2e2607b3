// A bit is shifted to the sign of its lane, where blendv reads it; fmadd takes the weights from memory.
#include <immintrin.h>

#include "lowtide/ops/decode/decode.hpp"
#include "lowtide/ops/row_product/lanes.hpp"

namespace lowtide::avx2 {
namespace {

struct Word {
  using Bits = __m256i;
  static Bits bits(std::uint64_t word) { return _mm256_set1_epi64x(static_cast<long long>(word)); }
};

struct Doubles : Word {
  using T = double;
  using Reg = __m256d;
  static constexpr std::size_t width = 4;
  static Reg all(float a) { return _mm256_set1_pd(a); }
  static Reg load(const double* p) { return _mm256_loadu_pd(p); }
  static void store(double* p, Reg a) { _mm256_store_pd(p, a); }
  static Reg add(Reg a, Reg b) { return _mm256_add_pd(a, b); }
  static Reg fmadd(Reg a, Reg b, Reg c) { return _mm256_fmadd_pd(a, b, c); }
  static double sum(Reg a) {
    const __m128d half = _mm_add_pd(_mm256_castpd256_pd128(a), _mm256_extractf128_pd(a, 1));
    return _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)));
  }
  static Bits next(Bits bits) { return _mm256_srli_epi64(bits, 4); }
  static Reg choose(Bits bits, Reg low, Reg high) {
    const __m256i signs = _mm256_sllv_epi64(bits, _mm256_setr_epi64x(63, 62, 61, 60));
    return _mm256_blendv_pd(low, high, _mm256_castsi256_pd(signs));
  }
  static void decode(const std::uint64_t* row, std::size_t n, unsigned bits, const float* book, std::size_t w, T* out) {
    avx2::decode(row, n, bits, book, w, out);
  }
};

struct Floats : Word {
  using T = float;
  using Reg = __m256;
  static constexpr std::size_t width = 8;
  static Reg all(float a) { return _mm256_set1_ps(a); }
  static Reg load(const float* p) { return _mm256_loadu_ps(p); }
  static void store(float* p, Reg a) { _mm256_store_ps(p, a); }
  static Reg add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
  static Reg fmadd(Reg a, Reg b, Reg c) { return _mm256_fmadd_ps(a, b, c); }
  static float sum(Reg a) {
    const __m128 half = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    const __m128 pair = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
  }
  static Bits next(Bits bits) { return _mm256_srli_epi64(bits, 8); }
  static Reg choose(Bits bits, Reg low, Reg high) {
    const __m256i lowest = _mm256_shuffle_epi32(bits, 0xa0);
    const __m256i signs = _mm256_sllv_epi32(lowest, _mm256_setr_epi32(31, 30, 29, 28, 27, 26, 25, 24));
    return _mm256_blendv_ps(low, high, _mm256_castsi256_ps(signs));
  }
  static void decode(const std::uint64_t* row, std::size_t n, unsigned bits, const float* book, std::size_t w, T* out) {
    avx2::decode(row, n, bits, book, w, out);
  }
};

}  // namespace

void row_product(const RowProduct<float>& product) { row_lanes::row_product<Floats>(product); }
void row_product(const RowProduct<double>& product) { row_lanes::row_product<Doubles>(product); }

}  // namespace lowtide::avx2
