// pdep and pext: eight levels are exactly `bits` bytes, whatever the width, so one instruction moves eight levels
// between a 64-bit word of bytes and a byte-aligned run of the row. Binds: one pdep or pext a cycle, three cycles
// latency that independent groups hide; 4-bit levels go 32 at a time instead. The last n_levels % 8 levels go through a
// zeroed word of their own.
#include <immintrin.h>

#include "lowtide/ops/pack/pack.hpp"

namespace lowtide::avx2 {
namespace {

constexpr std::uint64_t kByteOnes = 0x0101010101010101u;

// Copies of a run-time length of at most eight bytes; a call of memcpy would cost more than the pdep.
inline void copy_bytes(void* to, const void* from, std::size_t n) {
  auto* t = static_cast<unsigned char*>(to);
  const auto* f = static_cast<const unsigned char*>(from);
  for (std::size_t i = 0; i < n; ++i) t[i] = f[i];
}

template <unsigned Bits>
void pack_as(const std::uint8_t* levels, std::size_t n_levels, std::uint64_t* row) {
  constexpr std::uint64_t mask = kByteOnes * ((1u << Bits) - 1);
  auto* bytes = reinterpret_cast<unsigned char*>(row);
  const std::size_t groups = n_levels / 8, tail = n_levels % 8;
  row[words_per_row(n_levels, Bits) - 1] = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    std::uint64_t spread;
    __builtin_memcpy(&spread, levels + 8 * g, 8);
    const std::uint64_t packed = _pext_u64(spread, mask);
    __builtin_memcpy(bytes + Bits * g, &packed, Bits);
  }
  if (tail != 0) {
    std::uint64_t spread = 0;
    copy_bytes(&spread, levels + 8 * groups, tail);
    const std::uint64_t packed = _pext_u64(spread, mask);
    copy_bytes(bytes + Bits * groups, &packed, (tail * Bits + 7) / 8);
  }
}

// Two levels to a byte are a sum of products, level + 16 level: 32 at a time, the rest as other widths.
void pack_nibbles(const std::uint8_t* levels, std::size_t n_levels, std::uint64_t* row) {
  const __m256i weights = _mm256_set1_epi16(0x1001), low = _mm256_set1_epi8(0x0f);
  auto* bytes = reinterpret_cast<unsigned char*>(row);
  std::size_t j = 0;
  for (; j + 32 <= n_levels; j += 32) {
    const __m256i some = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(levels + j));
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_and_si256(some, low), weights);
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi16(pairs, pairs), 0x08);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(bytes + j / 2), _mm256_castsi256_si128(packed));
  }
  if (j < n_levels) pack_as<4>(levels + j, n_levels - j, row + j / 16);
}

template <unsigned Bits>
void unpack_as(const std::uint64_t* row, std::size_t n_levels, std::uint8_t* levels) {
  constexpr std::uint64_t mask = kByteOnes * ((1u << Bits) - 1);
  const auto* bytes = reinterpret_cast<const unsigned char*>(row);
  const std::size_t groups = n_levels / 8, tail = n_levels % 8;
  for (std::size_t g = 0; g < groups; ++g) {
    std::uint64_t packed = 0;
    __builtin_memcpy(&packed, bytes + Bits * g, Bits);
    const std::uint64_t spread = _pdep_u64(packed, mask);
    __builtin_memcpy(levels + 8 * g, &spread, 8);
  }
  if (tail != 0) {
    std::uint64_t packed = 0;
    copy_bytes(&packed, bytes + Bits * groups, (tail * Bits + 7) / 8);
    const std::uint64_t spread = _pdep_u64(packed, mask);
    copy_bytes(levels + 8 * groups, &spread, tail);
  }
}

// A byte widened to 16 bits and shifted onto itself has its two levels in its two bytes.
void unpack_nibbles(const std::uint64_t* row, std::size_t n_levels, std::uint8_t* levels) {
  const __m256i low = _mm256_set1_epi8(0x0f);
  const auto* bytes = reinterpret_cast<const unsigned char*>(row);
  std::size_t j = 0;
  for (; j + 32 <= n_levels; j += 32) {
    const __m256i wide = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + j / 2)));
    const __m256i both = _mm256_and_si256(_mm256_or_si256(wide, _mm256_slli_epi16(wide, 4)), low);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(levels + j), both);
  }
  if (j < n_levels) unpack_as<4>(row + j / 16, n_levels - j, levels + j);
}

}  // namespace

void pack(const std::uint8_t* levels, std::size_t n_levels, unsigned bits, std::uint64_t* row) {
  if (n_levels == 0) return;
  switch (bits) {
    case 1: return pack_as<1>(levels, n_levels, row);
    case 2: return pack_as<2>(levels, n_levels, row);
    case 3: return pack_as<3>(levels, n_levels, row);
    case 4: return pack_nibbles(levels, n_levels, row);
    default: return pack_as<8>(levels, n_levels, row);
  }
}

void unpack(const std::uint64_t* row, std::size_t n_levels, unsigned bits, std::uint8_t* levels) {
  switch (bits) {
    case 1: return unpack_as<1>(row, n_levels, levels);
    case 2: return unpack_as<2>(row, n_levels, levels);
    case 3: return unpack_as<3>(row, n_levels, levels);
    case 4: return unpack_nibbles(row, n_levels, levels);
    default: return unpack_as<8>(row, n_levels, levels);
  }
}

}  // namespace lowtide::avx2
