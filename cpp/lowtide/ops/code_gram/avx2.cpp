// Four rows at a time: the four bits of level k in those rows are a nibble, and popcount(nibble j AND nibble k) is a
// byte of one of sixteen tables of sixteen bytes, picked by nibble j and read for 32 levels k at once by vpshufb.
// Two instructions, vpshufb and vpaddb, do 128 pairs of bits; carry-save counting needs six or seven for 256.
// Operand: [tile][group of 4 rows][128 levels], a byte each. Binds: the three vector ports; blocks of 2 x 128 levels
// keep 8 byte sums in registers. A byte sum grows by 4 a group: emptied into 16-bit sums every 60 groups, those into
// the counts after at most kGramRows rows. Rows past the end are zero rows.
#include "lowtide/ops/code_dot/nibbles_avx2.hpp"
#include "lowtide/ops/code_gram/code_gram.hpp"

namespace lowtide::avx2 {
namespace {

constexpr std::size_t groups_of(std::size_t n_rows) { return (n_rows + 3) / 4; }

std::size_t operand_bytes(std::size_t n_levels, std::size_t n_rows) {
  return gram_tiles(n_levels) * groups_of(n_rows) * kGramTile;
}

// Bytes 0xFF where the 32 bits are set.
inline __m256i spread_bits(std::uint32_t bits) {
  const __m256i source =
      _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3);
  const __m256i place = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201u));
  const __m256i bytes = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(bits)), source);
  return _mm256_cmpeq_epi8(_mm256_and_si256(bytes, place), place);
}

void prepare(const std::uint64_t* rows, std::size_t n_rows, std::size_t n_levels, std::size_t first_tile,
             std::size_t last_tile, void* operand) {
  const std::size_t row_words = words_per_row(n_levels, 1), groups = groups_of(n_rows);
  auto* bytes = static_cast<std::uint8_t*>(operand);
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t count = n_rows - 4 * g < 4 ? n_rows - 4 * g : 4;
    for (std::size_t t = first_tile; t < last_tile; ++t) {
      std::uint8_t* to = bytes + (t * groups + g) * kGramTile;
      for (std::size_t v = 0; v < 4; ++v) {
        const std::size_t word = 2 * t + v / 2;
        __m256i nibbles = _mm256_setzero_si256();
        if (word < row_words) {
          for (std::size_t r = 0; r < count; ++r) {
            const auto bits = static_cast<std::uint32_t>(rows[(4 * g + r) * row_words + word] >> (v % 2 * 32));
            const __m256i bit = _mm256_set1_epi8(static_cast<char>(1 << r));
            nibbles = _mm256_or_si256(nibbles, _mm256_and_si256(spread_bits(bits), bit));
          }
        }
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 32 * v), nibbles);
      }
    }
  }
}

void tile(const void* operand, std::size_t n_rows, std::size_t, std::size_t s, std::size_t t, std::uint32_t* counts) {
  static constexpr nibbles::Tables tables = nibbles::of_bits();
  NibbleTiles::multiply(tables, operand, groups_of(n_rows), s, t, std::uint32_t{0}, counts);
}

}  // namespace

const GramOp code_gram = {operand_bytes, prepare, tile};

}  // namespace lowtide::avx2
