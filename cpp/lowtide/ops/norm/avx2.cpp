// Four accumulators of four float64 lanes; multiplied and added apart, as the squares are exact and either gives the
// same bits. Bound by the conversions. Tail: the last few entries through a padded copy.
#include <immintrin.h>

#include "lowtide/ops/norm/norm.hpp"

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
};

}  // namespace

float norm(const float* x, std::size_t n) {
  Lanes lanes;
  std::size_t j = 0;
  for (; j + 16 <= n; j += 16) lanes.add(x + j);
  if (j < n) {
    float last[16] = {};
    for (std::size_t i = j; i < n; ++i) last[i - j] = x[i];
    lanes.add(last);
  }
  const __m256d low = _mm256_add_pd(lanes.part[0], lanes.part[2]), high = _mm256_add_pd(lanes.part[1], lanes.part[3]);
  const __m256d four = _mm256_add_pd(low, high);
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  const __m128d one = _mm_add_sd(two, _mm_unpackhi_pd(two, two));
  return _mm_cvtss_f32(_mm_cvtsd_ss(_mm_setzero_ps(), _mm_sqrt_sd(one, one)));
}

}  // namespace lowtide::avx2
