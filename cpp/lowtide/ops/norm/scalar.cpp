#include "lowtide/ops/norm/norm.hpp"

#include <cmath>

namespace lowtide::scalar {

float norm(const float* x, std::size_t n) {
  double lane[16] = {};
  for (std::size_t j = 0; j < n; ++j) lane[j % 16] += static_cast<double>(x[j]) * static_cast<double>(x[j]);
  for (unsigned width = 8; width > 0; width /= 2)
    for (unsigned k = 0; k < width; ++k) lane[k] += lane[k + width];
  return static_cast<float>(std::sqrt(lane[0]));
}

}  // namespace lowtide::scalar
