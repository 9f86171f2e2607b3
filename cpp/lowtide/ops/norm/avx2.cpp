// Four accumulators of four float64 lanes; multiplied and added apart, as the squares are exact and either gives the
// same bits. Bound by the conversions.
#include <immintrin.h>

#include "lowtide/ops/norm/lanes.hpp"

namespace lowtide::avx2 {
namespace {

struct Lanes {
  __m256d part[4] = {_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd()};

  void add(const float* x) {
    for (unsigned g = 0; g < 4; ++g) {
      const __m256d wide = _mm256_cvtps_pd(_mm_loadu_ps(x + 4 * g));
      part[g] = _mm256_add_pd(part[g], _mm256_mul_pd(wide, wide));
    }
  }

  float root() {
    const __m256d low = _mm256_add_pd(part[0], part[2]), high = _mm256_add_pd(part[1], part[3]);
    const __m256d four = _mm256_add_pd(low, high);
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    const __m128d one = _mm_add_sd(two, _mm_unpackhi_pd(two, two));
    return _mm_cvtss_f32(_mm_cvtsd_ss(_mm_setzero_ps(), _mm_sqrt_sd(one, one)));
  }
};

}  // namespace

float norm(const float* x, std::size_t n) { return norm_lanes::norm<Lanes>(x, n); }

}  // namespace lowtide::avx2
