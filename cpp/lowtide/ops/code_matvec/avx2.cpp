// From five float32 columns on, and from two of float64, columns on the lanes: a vaddps or vaddpd from memory for a
// nibble and 8 or 4 columns. Binds: two loads a cycle from L1, and for one register the shift and mask that find the
// entry. One to four float32 columns have rows on the lanes: sixteen entries are two registers, and a nibble of eight
// rows is two vpermps and a vblendvps; binds: the ports that permute. There is no such permutation of eight float64
// values, so that one column of these goes by bytes, a vaddsd from memory each; binds: as for columns.
#include <immintrin.h>

#include "lowtide/ops/code_matvec/code_matvec.hpp"
#include "lowtide/ops/code_matvec/lanes.hpp"

namespace lowtide::avx2 {
namespace {

namespace p = product_lanes;

alignas(32) constexpr std::int32_t kMask32[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
alignas(32) constexpr std::int64_t kMask64[8] = {-1, -1, -1, -1};

struct Single {
  using Value = float;
  using Reg = __m256;
  static constexpr std::size_t width = 8;
  static Reg zero() { return _mm256_setzero_ps(); }
  static Reg load(const float* q) { return _mm256_loadu_ps(q); }
  static void store(float* q, Reg a) { _mm256_storeu_ps(q, a); }
  static Reg add(Reg a, Reg b) { return _mm256_add_ps(a, b); }
  static Reg add_scaled(Reg sum, Reg a, float b) { return add(sum, _mm256_mul_ps(a, _mm256_set1_ps(b))); }
  // Adds the first n lanes to memory, or all if there are fewer.
  static void add_to(float* q, std::size_t n, Reg a) {
    if (n >= width) return store(q, add(load(q), a));
    const __m256i mask = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMask32 + width - n));
    _mm256_maskstore_ps(q, mask, add(_mm256_maskload_ps(q, mask), a));
  }
};

struct SingleRows : Single {
  using Index = __m256i;
  static constexpr std::size_t parts = 2;
  static constexpr int groups(int n_columns) { return n_columns == 1 ? 4 : 2; }
  struct Table {
    __m256 low, high;
  };
  static Table table(const float* q) { return {load(q), load(q + 8)}; }
  // vpermps looks at three bits; the fourth, moved to the sign, says which half of the table counts.
  static Reg look_up(const Table& t, Index nibbles) {
    const __m256 half = _mm256_castsi256_ps(_mm256_slli_epi32(nibbles, 28));
    return _mm256_blendv_ps(_mm256_permutevar8x32_ps(t.low, nibbles), _mm256_permutevar8x32_ps(t.high, nibbles), half);
  }
  static Index next(Index nibbles) { return _mm256_srli_epi32(nibbles, 4); }
  // Half a word, `part`, of eight rows.
  static Index nibbles(const std::uint64_t* words, std::size_t part) {
    const __m256 a = load(reinterpret_cast<const float*>(words)), b = load(reinterpret_cast<const float*>(words + 4));
    const __m256 halves = part == 0 ? _mm256_shuffle_ps(a, b, 0x88) : _mm256_shuffle_ps(a, b, 0xDD);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(halves), 0xD8);
  }
};

struct Double {
  using Value = double;
  using Reg = __m256d;
  static constexpr std::size_t width = 4;
  static Reg zero() { return _mm256_setzero_pd(); }
  static Reg load(const double* q) { return _mm256_loadu_pd(q); }
  static void store(double* q, Reg a) { _mm256_storeu_pd(q, a); }
  static Reg add(Reg a, Reg b) { return _mm256_add_pd(a, b); }
  static Reg add_scaled(Reg sum, Reg a, double b) { return add(sum, _mm256_mul_pd(a, _mm256_set1_pd(b))); }
  static void add_to(double* q, std::size_t n, Reg a) {
    if (n >= width) return store(q, add(load(q), a));
    const __m256i mask = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kMask64 + width - n));
    _mm256_maskstore_pd(q, mask, add(_mm256_maskload_pd(q, mask), a));
  }
};

struct Forms {
  static MatvecOp<float> of(std::size_t n_columns, float) {
    static constexpr MatvecOp<float> few[4] = {p::by_rows<SingleRows, 1>, p::by_rows<SingleRows, 2>,
                                               p::by_rows<SingleRows, 3>, p::by_rows<SingleRows, 4>};
    if (n_columns <= 4) return few[n_columns - 1];
    return n_columns <= 8 ? p::by_columns<Single, 1> : p::by_columns<Single, 2>;
  }

  static MatvecOp<double> of(std::size_t n_columns, double) {
    static constexpr MatvecOp<double> forms[4] = {p::by_columns<Double, 1>, p::by_columns<Double, 2>,
                                                  p::by_columns<Double, 3>, p::by_columns<Double, 4>};
    return n_columns == 1 ? p::by_bytes<Double> : forms[(n_columns - 1) / 4];
  }
};

}  // namespace

const MatvecOps code_matvec = p::ops<Forms>;

}  // namespace lowtide::avx2
