// Bare loops whose rates are the machine's limits: nothing but the instruction in question, on as many registers as
// hide its latency. Compiled at run time with the flags of the level that is in force; `asm` keeps the compiler from
// folding or dropping what is only counted. A call runs on one thread.
#include <cstddef>
#include <cstdint>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
constexpr std::size_t bytes = 64;
#define KEEP(x) asm volatile("" : "+v"(x))
#elif defined(__AVX2__)
constexpr std::size_t bytes = 32;
#define KEEP(x) asm volatile("" : "+x"(x))
#endif

typedef float Floats __attribute__((vector_size(bytes)));
typedef std::uint8_t Bytes __attribute__((vector_size(bytes)));
typedef std::uint64_t Words __attribute__((vector_size(bytes)));

constexpr int sums = 12;  // of 16 registers: twice the latency of an addition on three ports

// Something that depends on all sums. Unrolled, as every loop over them: an index known only at run time would put the
// sums into memory.
template <typename T, typename Vector, int N>
static T first_lanes(const Vector (&total)[N]) {
  T result = 0;
#pragma GCC unroll 16
  for (int v = 0; v < N; ++v) result += total[v][0];
  return result;
}

extern "C" {

std::size_t vector_bytes() { return bytes; }

// Reads n_bytes, a multiple of 8 vectors, `repeats` times: one load and one addition a vector.
std::uint64_t read_bytes(const void* data, std::size_t n_bytes, std::size_t repeats) {
  Words total[8] = {};
  const std::size_t n = n_bytes / bytes;
  for (std::size_t r = 0; r < repeats; ++r) {
    const Words* at = static_cast<const Words*>(data);
    for (std::size_t i = 0; i < n; i += 8, at += 8) {
#pragma GCC unroll 8
      for (int v = 0; v < 8; ++v) total[v] += at[v];
    }
#pragma GCC unroll 8
    for (int v = 0; v < 8; ++v) KEEP(total[v]);
  }
  return first_lanes<std::uint64_t>(total);
}

// Writes n_bytes, a multiple of a vector, past the caches.
void write_bytes(void* data, std::size_t n_bytes) {
  Floats value = {};
  KEEP(value);
  float* at = static_cast<float*>(data);
  for (std::size_t i = 0; i < n_bytes; i += bytes, at += bytes / sizeof(float)) {
#if defined(__AVX512F__)
    _mm512_stream_ps(at, value);
#elif defined(__AVX2__)
    _mm256_stream_ps(at, value);
#endif
  }
#ifdef __AVX2__
  _mm_sfence();
#endif
}

// `rounds` times 12 additions of float32 vectors, every other one a multiply-add by 1 as in ops/hadamard: where those
// have a port that additions lack, both are used.
float additions(std::size_t rounds) {
  Floats total[sums] = {}, one = Floats{} + 1.0f, term = Floats{} + 1e-9f;
  KEEP(one);
  KEEP(term);
  for (std::size_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int v = 0; v < sums; ++v) {
#if defined(__AVX512F__)
      total[v] = v % 2 == 0 ? _mm512_add_ps(total[v], term) : _mm512_fmadd_ps(total[v], one, term);
#elif defined(__AVX2__)
      total[v] = v % 2 == 0 ? _mm256_add_ps(total[v], term) : _mm256_fmadd_ps(total[v], one, term);
#endif
      KEEP(total[v]);
    }
  }
  return first_lanes<float>(total);
}

// `rounds` times 12 additions of vectors of bytes: the cheapest vector instruction, on every vector port there is.
std::uint64_t instructions(std::size_t rounds) {
  Bytes total[sums] = {}, term = Bytes{} + std::uint8_t{1};
  KEEP(term);
  for (std::size_t r = 0; r < rounds; ++r) {
#pragma GCC unroll 12
    for (int v = 0; v < sums; ++v) {
      total[v] += term;
      KEEP(total[v]);
    }
  }
  return first_lanes<std::uint64_t>(total);
}

// `rounds` times 4 products of tiles of bytes, 16 x 64 by 64 x 16, each with a tile that is loaded for it, as a product
// of large matrices needs at least. 0 where there are no tiles; else a sum that depends on all.
std::int32_t tile_products(std::size_t rounds) {
#ifdef __AMX_INT8__
  struct alignas(64) Shapes {
    std::uint8_t palette = 1, start_row = 0, unused[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } const shapes;
  alignas(64) std::int8_t ones_of[4][1024];
  alignas(64) std::int32_t sums[4][256];
  for (auto& tile : ones_of)
    for (auto& value : tile) value = 1;
  asm volatile("" ::: "memory");
  _tile_loadconfig(&shapes);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::size_t r = 0; r < rounds; ++r) {
    _tile_loadd(4, ones_of[0], 64);
    _tile_loadd(5, ones_of[1], 64);
    _tile_loadd(6, ones_of[2], 64);
    _tile_loadd(7, ones_of[3], 64);
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
  _tile_stored(0, sums[0], 64);
  _tile_stored(1, sums[1], 64);
  _tile_stored(2, sums[2], 64);
  _tile_stored(3, sums[3], 64);
  _tile_release();
  asm volatile("" ::: "memory");
  return sums[0][0] + sums[1][0] + sums[2][0] + sums[3][0];
#else
  return 0 * static_cast<std::int32_t>(rounds);
#endif
}

// Ones of n_words words, a multiple of 64, counted `repeats` times, by the widest count of the level.
std::uint64_t ones(const std::uint64_t* words, std::size_t n_words, std::size_t repeats) {
#if defined(__AVX512VPOPCNTDQ__)
  Words total[8] = {};
  for (std::size_t r = 0; r < repeats; ++r) {
    for (std::size_t i = 0; i < n_words; i += 64) {
#pragma GCC unroll 8
      for (int v = 0; v < 8; ++v)
        total[v] += reinterpret_cast<Words>(_mm512_popcnt_epi64(_mm512_loadu_si512(words + i + 8 * v)));
    }
#pragma GCC unroll 8
    for (int v = 0; v < 8; ++v) KEEP(total[v]);
  }
  Words all = {};
#pragma GCC unroll 8
  for (int v = 0; v < 8; ++v) all += total[v];
  std::uint64_t result = 0;
  for (int l = 0; l < 8; ++l) result += all[l];
  return result;
#else
  std::uint64_t total[4] = {};
  for (std::size_t r = 0; r < repeats; ++r) {
    for (std::size_t i = 0; i < n_words; i += 4) {
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        std::uint64_t count = static_cast<std::uint64_t>(__builtin_popcountll(words[i + v]));
        asm volatile("" : "+r"(count));  // one word at a time, as the op does
        total[v] += count;
      }
    }
  }
  return total[0] + total[1] + total[2] + total[3];
#endif
}
}
