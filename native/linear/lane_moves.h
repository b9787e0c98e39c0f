// Moves registers of lanes to and from memory: transposed squares, pairs of complex parts, plain copies.
// Include after the standard headers, once per instruction set.
#pragma once
#include "native/linear/lanes.h"

namespace warploom::cpu::WARPLOOM_ISA {

/// Rows in one cache line.
template <class R>
inline constexpr int64_t kLineRows = 64 / static_cast<int64_t>(sizeof(R));

/// Stores a register to an address aligned to its size, bypassing the caches if the processor can.
template <class R>
WARPLOOM_INLINE void store_around(R* to, const typename RegisterOf<R>::Vector& value) {
#if defined(__x86_64__) && WARPLOOM_VECTOR_BYTES == 64
  if constexpr (sizeof(R) == 4) __builtin_ia32_movntps512(to, value);
  else __builtin_ia32_movntpd512(to, value);
#elif defined(__x86_64__) && WARPLOOM_VECTOR_BYTES == 32
  if constexpr (sizeof(R) == 4) __builtin_ia32_movntps256(to, value);
  else __builtin_ia32_movntpd256(to, value);
#elif defined(__x86_64__)
  if constexpr (sizeof(R) == 4) __builtin_ia32_movntps(to, value);
  else __builtin_ia32_movntpd(to, value);
#else
  __builtin_memcpy(to, &value, sizeof(value));
#endif
}
/// Orders stores that bypass the caches before whatever follows.
WARPLOOM_INLINE void fence_stores() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#endif
}

template <class R, int... K>
struct LaneOrder {
  typedef typename RegisterOf<R>::Vector Vector;
  static constexpr int kCount = sizeof...(K);
  /// Swaps the off-diagonal blocks of `step` lanes of rows a and b.
  template <int kStep>
  static WARPLOOM_INLINE void swap_blocks(Vector& a, Vector& b) {
    const Vector low = __builtin_shufflevector(a, b, ((K & kStep) ? kCount + K - kStep : K)...);
    b = __builtin_shufflevector(a, b, ((K & kStep) ? kCount + K : K + kStep)...);
    a = low;
  }
  template <int kStep>
  static WARPLOOM_INLINE void stages(Vector* r) {
    (pair<kStep, K>(r), ...);
    if constexpr (kStep > 1) stages<kStep / 2>(r);
  }
  template <int kStep, int kRow>
  static WARPLOOM_INLINE void pair(Vector* r) {
    if constexpr ((kRow & kStep) == 0) swap_blocks<kStep>(r[kRow], r[kRow + kStep]);
  }
  /// Square of kCount lanes by kCount consecutive rows into row vectors.
  static WARPLOOM_INLINE void gather(const R* const* lane, int64_t row, R* out, int64_t stride) {
    Vector r[kCount];
    (__builtin_memcpy(&r[K], lane[K] + row, sizeof(Vector)), ...);
    stages<kCount / 2>(r);
    (__builtin_memcpy(out + K * stride, &r[K], sizeof(Vector)), ...);
  }
  static WARPLOOM_INLINE void scatter(R* const* lane, int64_t row, const R* in, int64_t stride) {
    Vector r[kCount];
    (__builtin_memcpy(&r[K], in + K * stride, sizeof(Vector)), ...);
    stages<kCount / 2>(r);
    (__builtin_memcpy(lane[K] + row, &r[K], sizeof(Vector)), ...);
  }
  /// Splits N pairs of numbers into the first numbers and the second numbers.
  template <int N>
  static WARPLOOM_INLINE void split(const R* pairs, R* out) {
    for (int l = 0; l < N; l += kCount) {
      Vector a, b;
      __builtin_memcpy(&a, pairs + 2 * l, sizeof(a));
      __builtin_memcpy(&b, pairs + 2 * l + kCount, sizeof(b));
      const Vector even = __builtin_shufflevector(a, b, (2 * K)...);
      const Vector odd = __builtin_shufflevector(a, b, (2 * K + 1)...);
      __builtin_memcpy(out + l, &even, sizeof(even));
      __builtin_memcpy(out + N + l, &odd, sizeof(odd));
    }
  }
  /// The reverse of split.
  template <int N>
  static WARPLOOM_INLINE void join(const R* in, R* pairs) {
    for (int l = 0; l < N; l += kCount) {
      Vector a, b;
      __builtin_memcpy(&a, in + l, sizeof(a));
      __builtin_memcpy(&b, in + N + l, sizeof(b));
      const Vector low = __builtin_shufflevector(a, b, (K / 2 + (K % 2) * kCount)...);
      const Vector high = __builtin_shufflevector(a, b, (kCount / 2 + K / 2 + (K % 2) * kCount)...);
      __builtin_memcpy(pairs + 2 * l, &low, sizeof(low));
      __builtin_memcpy(pairs + 2 * l + kCount, &high, sizeof(high));
    }
  }
  /// Stores the rows of one cache line, bypassing the caches. Each lane's line is stored at once, so that few
  /// write-combining buffers are open.
  static WARPLOOM_INLINE void scatter_line(R* const* lane, int64_t row, const R* in, int64_t stride) {
    constexpr int kSquares = 64 / static_cast<int>(sizeof(Vector));
    Vector r[kSquares][kCount];
    for (int q = 0; q < kSquares; ++q) {
      (__builtin_memcpy(&r[q][K], in + (q * kCount + K) * stride, sizeof(Vector)), ...);
      stages<kCount / 2>(r[q]);
    }
    const auto store = [&](R* to, int k) __attribute__((always_inline)) {
      for (int q = 0; q < kSquares; ++q) store_around(to + q * kCount, r[q][k]);
    };
    (store(lane[K] + row, K), ...);
  }
};
template <class R, int N> struct LaneOrderOf;
template <class R> struct LaneOrderOf<R, 2> : LaneOrder<R, 0, 1> {};
template <class R> struct LaneOrderOf<R, 4> : LaneOrder<R, 0, 1, 2, 3> {};
template <class R> struct LaneOrderOf<R, 8> : LaneOrder<R, 0, 1, 2, 3, 4, 5, 6, 7> {};
template <class R>
struct LaneOrderOf<R, 16> : LaneOrder<R, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15> {};
template <class R> using Order = LaneOrderOf<R, kRegisterLanes<R>>;

/// Copies adjacent lanes register by register: store forwarding needs stores as wide as the register loads that follow.
template <class R, int N>
WARPLOOM_INLINE void copy_lanes(R* to, const R* from) {
  constexpr int kStep = N < kRegisterLanes<R> ? 1 : kRegisterLanes<R>;
  for (int l = 0; l < N; l += kStep) {
    if constexpr (kStep == 1) {
      to[l] = from[l];
    } else {
      typename RegisterOf<R>::Vector v;
      __builtin_memcpy(&v, from + l, sizeof(v));
      __builtin_memcpy(to + l, &v, sizeof(v));
    }
  }
}
template <class R, int N>
WARPLOOM_INLINE void fill_lanes(R* to, R value) {
  constexpr int kStep = N < kRegisterLanes<R> ? 1 : kRegisterLanes<R>;
  for (int l = 0; l < N; l += kStep) {
    if constexpr (kStep == 1) {
      to[l] = value;
    } else {
      const typename RegisterOf<R>::Vector v = typename RegisterOf<R>::Vector{} + value;
      __builtin_memcpy(to + l, &v, sizeof(v));
    }
  }
}

/// copy_lanes, bypassing the caches; `to` starts at a cache line.
template <class R, int N>
WARPLOOM_INLINE void store_lanes_around(R* to, const R* from) {
  for (int l = 0; l < N; l += kRegisterLanes<R>) {
    typename RegisterOf<R>::Vector v;
    __builtin_memcpy(&v, from + l, sizeof(v));
    store_around(to + l, v);
  }
}

}  // namespace warploom::cpu::WARPLOOM_ISA
