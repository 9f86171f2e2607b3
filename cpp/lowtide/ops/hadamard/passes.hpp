// The passes of the Hadamard op over a register type V, written once for all instruction sets.
//
// The low `c` bits of an index make a chunk, held in n = 2^c / V::width registers; the bits above are taken in groups
// of R = 2^k chunks a fixed stride apart. Strides go down, up, down, so rounds meet inside a pass:
//     first   top group down, S1 before it
//     turn    low bits down, rotation, low bits up  (one chunk in registers; no stride 1 on either side)
//     crest   top group up, S3, top group down      (drops outputs that are not read)
//     last    low bits down
// Between them run the groups in the middle, if there are any. The transposed blocks go down, up, down as well:
//     begin   top group down
//     fold    low bits down, S3, low bits up        (no stride 1 on the way up)
//     peak    top group up, rotation, top group down
//     end     low bits down to stride 2, S1, added to the row
// A rotation is one of neighbors within a register, so it fits into a pass over the top group. V lives in an unnamed namespace of the including file,
// so every instance is that file's own and code of one level never stands in for another's.
//
// Multiplying by a sign is exact, so fmadd(a, s, b) = a s + b rounds once, as the addition of the contract does.
#pragma once

#include <cstddef>

namespace lowtide::hadamard_passes {

#define LOWTIDE_INLINE [[gnu::always_inline]] inline

// The input after this one, asked for a few lines at a time in every step of a pass: only some 16 lines can be under
// way at once, so all of them together would hold up the loads of the pass itself.
template <class V>
class Ahead {
 public:
  Ahead(const float* next, std::size_t n) : at_(reinterpret_cast<const char*>(next)), left_(next ? n / floats : 0) {}

  // After a step over N registers: four passes ask for a third of their own size each, of which the
  // later ones may be halved.
  template <int N>
  LOWTIDE_INLINE void fetch() {
    constexpr std::size_t share = N * V::width / (3 * floats);
    const std::size_t count = left_ < share ? left_ : share;
    for (std::size_t i = 0; i < count; ++i) __builtin_prefetch(at_ + 64 * i, 0, 3);
    at_ += 64 * count;
    left_ -= count;
  }

 private:
  static constexpr std::size_t floats = 16;  // of a cache line
  const char* at_;
  std::size_t left_;
};

template <class V, int N, int Stride>
LOWTIDE_INLINE void butterflies(typename V::Reg (&r)[N]) {
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) {
    if ((i & Stride) != 0) continue;
    const typename V::Reg a = r[i], b = r[i + Stride];
    r[i] = V::add(a, b);
    r[i + Stride] = V::sub(a, b);
  }
}

template <class V, int N, int From>
LOWTIDE_INLINE void down(typename V::Reg (&r)[N]) {
  if constexpr (From >= 1) {
    butterflies<V, N, From>(r);
    down<V, N, From / 2>(r);
  }
}

template <class V, int N, int From = 1>
LOWTIDE_INLINE void up(typename V::Reg (&r)[N]) {
  if constexpr (From < N) {
    butterflies<V, N, From>(r);
    up<V, N, 2 * From>(r);
  }
}

// Multiplies r[i] by the signs at signs + i * step, then runs the strides N/2, ..., 1; of the first stages only the
// sums are made where just the first Keep registers are wanted.
template <class V, int N, int Keep>
LOWTIDE_INLINE void signed_down(typename V::Reg (&r)[N], const float* signs, std::size_t step) {
  constexpr int h = N / 2;
#pragma GCC unroll 16
  for (int i = 0; i < h; ++i) {
    const typename V::Reg b = V::mul(r[i + h], V::load(signs + (i + h) * step)), s = V::load(signs + i * step);
    if constexpr (Keep > h) r[i + h] = V::fmsub(r[i], s, b);
    r[i] = V::fmadd(r[i], s, b);
  }
#pragma GCC unroll 4
  for (int g = h / 2; g >= Keep; g /= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < g; ++i) r[i] = V::add(r[i], r[i + g]);
  }
  if constexpr (Keep == N) {
    down<V, N, N / 4>(r);
  } else {
    typename V::Reg kept[Keep];
#pragma GCC unroll 16
    for (int i = 0; i < Keep; ++i) kept[i] = r[i];
    down<V, Keep, Keep / 2>(kept);
#pragma GCC unroll 16
    for (int i = 0; i < Keep; ++i) r[i] = kept[i];
  }
}

template <class V, int N>
LOWTIDE_INLINE void load(typename V::Reg (&r)[N], const float* p, std::size_t step) {
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) r[i] = V::load(p + i * step);
}

template <class V, int N, int Keep = N>
LOWTIDE_INLINE void store(const typename V::Reg (&r)[N], float* p, std::size_t step) {
#pragma GCC unroll 16
  for (int i = 0; i < Keep; ++i) V::store(p + i * step, r[i]);
}

template <class V, int N>
LOWTIDE_INLINE void lanes_down(typename V::Reg (&r)[N]) {
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) r[i] = V::lanes_down(r[i]);
}

// Across lanes down to stride 2, the rotation of neighbors, up from stride 2.
template <class V, int N>
LOWTIDE_INLINE void turn_chunk(typename V::Reg (&r)[N], const float* rotations) {
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) r[i] = V::lanes_up(V::rotate(V::lanes_down_to_2(r[i]), rotations + i * V::width));
  up<V, N>(r);
}

// B blocks that fit in registers together, step by step side by side: all three rounds at once. One small block alone
// would wait for its own additions.
template <class V, int N, int B>
void whole(const float* x, const float* blocks, float* v) {
  constexpr std::size_t dim = N * V::width;
  typename V::Reg r[B][N];
#pragma GCC unroll 4
  for (int b = 0; b < B; ++b) {
    load<V, N>(r[b], x, V::width);
    signed_down<V, N, N>(r[b], blocks + 3 * dim * b, V::width);
  }
#pragma GCC unroll 4
  for (int b = 0; b < B; ++b) turn_chunk<V, N>(r[b], blocks + 3 * dim * b + dim);
#pragma GCC unroll 4
  for (int b = 0; b < B; ++b) signed_down<V, N, N>(r[b], blocks + 3 * dim * b + 2 * dim, V::width);
#pragma GCC unroll 4
  for (int b = 0; b < B; ++b) {
    lanes_down<V, N>(r[b]);
    store<V, N>(r[b], v + dim * b, V::width);
  }
}

template <class V, int R>
void first(const float* x, Ahead<V>& ahead, const float* s1, std::size_t stride, float* v) {
  for (std::size_t i = 0; i < stride; i += V::width) {
    typename V::Reg r[R];
    load<V, R>(r, x + i, stride);
    ahead.template fetch<R>();
    signed_down<V, R, R>(r, s1 + i, stride);
    store<V, R>(r, v + i, stride);
  }
}

template <class V, int R, int Keep>
void crest(Ahead<V>& ahead, const float* s3, std::size_t stride, float* v) {
  for (std::size_t i = 0; i < stride; i += V::width) {
    typename V::Reg r[R];
    load<V, R>(r, v + i, stride);
    ahead.template fetch<R>();
    up<V, R>(r);
    signed_down<V, R, Keep>(r, s3 + i, stride);
    store<V, R, Keep>(r, v + i, stride);
  }
}

// A group in the middle, of 8 chunks `stride` apart, over the first n entries.
template <class V, bool Down>
void middle(std::size_t n, std::size_t stride, float* v) {
  for (std::size_t start = 0; start < n; start += 8 * stride) {
    for (std::size_t i = start; i < start + stride; i += V::width) {
      typename V::Reg r[8];
      load<V, 8>(r, v + i, stride);
      if constexpr (Down) {
        down<V, 8, 4>(r);
      } else {
        up<V, 8>(r);
      }
      store<V, 8>(r, v + i, stride);
    }
  }
}

template <class V, int N>
void turn(Ahead<V>& ahead, const float* rotations, std::size_t n, float* v) {
  for (std::size_t i = 0; i < n; i += N * V::width) {
    typename V::Reg r[N];
    load<V, N>(r, v + i, V::width);
    ahead.template fetch<N>();
    down<V, N, N / 2>(r);
    turn_chunk<V, N>(r, rotations + i);
    store<V, N>(r, v + i, V::width);
  }
}

template <class V, int N>
void last(Ahead<V>& ahead, std::size_t n, float* v) {
  for (std::size_t i = 0; i < n; i += N * V::width) {
    typename V::Reg r[N];
    load<V, N>(r, v + i, V::width);
    ahead.template fetch<N>();
    down<V, N, N / 2>(r);
    lanes_down<V, N>(r);
    store<V, N>(r, v + i, V::width);
  }
}

// As crest, for the smallest power of two of chunks that holds n_used entries.
template <class V, int R, int Keep = R>
std::size_t crest_for(Ahead<V>& ahead, const float* s3, std::size_t stride, std::size_t n_used, float* v) {
  if constexpr (Keep > 1) {
    if (n_used <= Keep / 2 * stride) return crest_for<V, R, Keep / 2>(ahead, s3, stride, n_used, v);
  }
  crest<V, R, Keep>(ahead, s3, stride, v);
  return Keep * stride;
}

// A block of R * stride entries, chunks of N registers, whole groups of 8 between the chunk and `stride`.
template <class V, int N, int R>
void block(const float* x, Ahead<V>& ahead, const float* drawn, std::size_t stride, std::size_t n_used, float* v) {
  constexpr std::size_t chunk = N * V::width;
  const std::size_t dim = R * stride;
  first<V, R>(x, ahead, drawn, stride, v);
  for (std::size_t h = stride / 8; h >= chunk; h /= 8) middle<V, true>(dim, h, v);
  turn<V, N>(ahead, drawn + dim, dim, v);
  for (std::size_t h = chunk; h < stride; h *= 8) middle<V, false>(dim, h, v);
  const std::size_t n = crest_for<V, R>(ahead, drawn + 2 * dim, stride, n_used, v);
  for (std::size_t h = stride / 8; h >= chunk; h /= 8) middle<V, true>(n, h, v);
  last<V, N>(ahead, n, v);
}

// A block of `dim` entries in chunks of N registers, of which the top group has at most `Most`.
template <class V, int N, int Most>
void chunked(const float* x, Ahead<V>& ahead, const float* drawn, std::size_t dim, std::size_t n_used, float* v) {
  std::size_t top = dim / (N * V::width);
  while (top > Most) top /= 8;
  switch (top) {
    case 1: return whole<V, N, 1>(x, drawn, v);
    case 2: return block<V, N, 2>(x, ahead, drawn, dim / 2, n_used, v);
    case 4: return block<V, N, 4>(x, ahead, drawn, dim / 4, n_used, v);
    case 8: return block<V, N, 8>(x, ahead, drawn, dim / 8, n_used, v);
    default: return block<V, N, Most>(x, ahead, drawn, dim / Most, n_used, v);
  }
}

// Across all lanes down, S3, up from stride 2.
template <class V, int N>
LOWTIDE_INLINE void fold_chunk(typename V::Reg (&r)[N], const float* signs) {
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) r[i] = V::lanes_up(V::mul(V::lanes_down(r[i]), V::load(signs + i * V::width)));
  up<V, N>(r);
}

// Across lanes down to stride 2, S1, added to the row.
template <class V, int N>
LOWTIDE_INLINE void end_chunk(typename V::Reg (&r)[N], const float* signs, float* out) {
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) {
    const typename V::Reg s = V::load(signs + i * V::width);
    V::store(out + i * V::width, V::fmadd(V::lanes_down_to_2(r[i]), s, V::load(out + i * V::width)));
  }
}

template <class V, int N>
LOWTIDE_INLINE void rotate_back(typename V::Reg (&r)[N], const float* rotations, std::size_t step) {
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) r[i] = V::rotate_back(r[i], rotations + i * step);
}

// B transposed blocks in registers, side by side as in `whole`, and added to the row one after the other.
template <class V, int N, int B>
void whole_transpose(const float* v, const float* blocks, float* out) {
  constexpr std::size_t dim = N * V::width;
  typename V::Reg r[B][N];
#pragma GCC unroll 4
  for (int b = 0; b < B; ++b) {
    load<V, N>(r[b], v + dim * b, V::width);
    down<V, N, N / 2>(r[b]);
  }
#pragma GCC unroll 4
  for (int b = 0; b < B; ++b) fold_chunk<V, N>(r[b], blocks + 3 * dim * b + 2 * dim);
#pragma GCC unroll 4
  for (int b = 0; b < B; ++b) {
    rotate_back<V, N>(r[b], blocks + 3 * dim * b + dim, V::width);
    down<V, N, N / 2>(r[b]);
  }
#pragma GCC unroll 4
  for (int b = 0; b < B; ++b) end_chunk<V, N>(r[b], blocks + 3 * dim * b, out);
}

template <class V, int R>
void begin(std::size_t stride, float* v) {
  for (std::size_t i = 0; i < stride; i += V::width) {
    typename V::Reg r[R];
    load<V, R>(r, v + i, stride);
    down<V, R, R / 2>(r);
    store<V, R>(r, v + i, stride);
  }
}

template <class V, int N>
void fold(const float* s3, std::size_t n, float* v) {
  for (std::size_t i = 0; i < n; i += N * V::width) {
    typename V::Reg r[N];
    load<V, N>(r, v + i, V::width);
    down<V, N, N / 2>(r);
    fold_chunk<V, N>(r, s3 + i);
    store<V, N>(r, v + i, V::width);
  }
}

template <class V, int R>
void peak(const float* rotations, std::size_t stride, float* v) {
  for (std::size_t i = 0; i < stride; i += V::width) {
    typename V::Reg r[R];
    load<V, R>(r, v + i, stride);
    up<V, R>(r);
    rotate_back<V, R>(r, rotations + i, stride);
    down<V, R, R / 2>(r);
    store<V, R>(r, v + i, stride);
  }
}

template <class V, int N>
void end(const float* s1, std::size_t n, const float* v, float* out) {
  for (std::size_t i = 0; i < n; i += N * V::width) {
    typename V::Reg r[N];
    load<V, N>(r, v + i, V::width);
    down<V, N, N / 2>(r);
    end_chunk<V, N>(r, s1 + i, out + i);
  }
}

// A transposed block of R * stride entries, in place, groups as in `block`.
template <class V, int N, int R>
void block_transpose(float* v, const float* drawn, std::size_t stride, float* out) {
  constexpr std::size_t chunk = N * V::width;
  const std::size_t dim = R * stride;
  begin<V, R>(stride, v);
  for (std::size_t h = stride / 8; h >= chunk; h /= 8) middle<V, true>(dim, h, v);
  fold<V, N>(drawn + 2 * dim, dim, v);
  for (std::size_t h = chunk; h < stride; h *= 8) middle<V, false>(dim, h, v);
  peak<V, R>(drawn + dim, stride, v);
  for (std::size_t h = stride / 8; h >= chunk; h /= 8) middle<V, true>(dim, h, v);
  end<V, N>(drawn, dim, v, out);
}

template <class V, int N, int Most>
void chunked_transpose(float* v, const float* drawn, std::size_t dim, float* out) {
  std::size_t top = dim / (N * V::width);
  while (top > Most) top /= 8;
  switch (top) {
    case 1: return whole_transpose<V, N, 1>(v, drawn, out);
    case 2: return block_transpose<V, N, 2>(v, drawn, dim / 2, out);
    case 4: return block_transpose<V, N, 4>(v, drawn, dim / 4, out);
    case 8: return block_transpose<V, N, 8>(v, drawn, dim / 8, out);
    default: return block_transpose<V, N, Most>(v, drawn, dim / Most, out);
  }
}

#undef LOWTIDE_INLINE

}  // namespace lowtide::hadamard_passes
