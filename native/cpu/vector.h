// A register of points, with the names of cuda/core/portable.h. Compiled once per instruction set, in the namespace
// WARPLOOM_ISA; WARPLOOM_VECTOR_BYTES is the width of a register. Include only from native/<domain>/isa_*.cpp, after
// every standard header.
//
// Every operation does per lane what portable.h does, so point functions give the same bits with vectors of any width.
#pragma once
#include <cstdint>

#include "cuda/core/portable.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#ifndef WARPLOOM_ISA
#error "define WARPLOOM_ISA and WARPLOOM_VECTOR_BYTES first"
#endif
#define WARPLOOM_INLINE inline __attribute__((always_inline))

namespace warploom::cpu::WARPLOOM_ISA {

template <class R> struct RegisterOf;
template <> struct RegisterOf<float> {
  typedef float Lanes __attribute__((vector_size(WARPLOOM_VECTOR_BYTES)));
  typedef int32_t Bits __attribute__((vector_size(WARPLOOM_VECTOR_BYTES)));
  using Integer = int32_t;
};
template <> struct RegisterOf<double> {
  typedef double Lanes __attribute__((vector_size(WARPLOOM_VECTOR_BYTES)));
  typedef int64_t Bits __attribute__((vector_size(WARPLOOM_VECTOR_BYTES)));
  using Integer = int64_t;
};
template <class R>
inline constexpr int kWidth = WARPLOOM_VECTOR_BYTES / static_cast<int>(sizeof(R));

/// One truth value (0 or ~0) per lane.
template <class R>
struct Mask {
  typename RegisterOf<R>::Bits v;
};

template <class R>
struct Vector {
  using Lanes = typename RegisterOf<R>::Lanes;
  using Bits = typename RegisterOf<R>::Bits;
  Lanes v;
  Vector() = default;
  WARPLOOM_INLINE Vector(const Lanes& lanes) : v(lanes) {}
  WARPLOOM_INLINE explicit Vector(R value) : v(Lanes{} + value) {}
  /// Memory of any alignment. (A memcpy would do, but GCC 12 moves structs of vectors in halves, and stores in halves
  /// cannot be forwarded to later loads.)
  typedef Lanes Unaligned __attribute__((aligned(alignof(R)), may_alias));
  static WARPLOOM_INLINE Vector load(const R* from) { return Lanes(*reinterpret_cast<const Unaligned*>(from)); }
  WARPLOOM_INLINE void store(R* to) const { *reinterpret_cast<Unaligned*>(to) = v; }
};

// clang-format off
#define WARPLOOM_BINARY(Result, Operand, name, expression) \
  template <class R> WARPLOOM_INLINE Result<R> name(const Operand<R>& a, const Operand<R>& b) { return {expression}; }
#define WARPLOOM_UNARY(Result, Operand, name, expression) \
  template <class R> WARPLOOM_INLINE Result<R> name(const Operand<R>& a) { return {expression}; }
WARPLOOM_BINARY(Vector, Vector, operator+, a.v + b.v)
WARPLOOM_BINARY(Vector, Vector, operator-, a.v - b.v)
WARPLOOM_BINARY(Vector, Vector, operator*, a.v * b.v)
WARPLOOM_BINARY(Vector, Vector, operator/, a.v / b.v)
WARPLOOM_BINARY(Mask, Vector, operator<, a.v < b.v)
WARPLOOM_BINARY(Mask, Vector, operator>, a.v > b.v)
WARPLOOM_BINARY(Mask, Vector, operator>=, a.v >= b.v)
WARPLOOM_BINARY(Mask, Mask, operator&, a.v & b.v)
WARPLOOM_BINARY(Mask, Mask, operator|, a.v | b.v)
WARPLOOM_UNARY(Vector, Vector, operator-, -a.v)
#undef WARPLOOM_BINARY
#undef WARPLOOM_UNARY
// clang-format on

/// Calls scalar(x…) for each lane; where a single instruction exists, the compiler uses it.
#define WARPLOOM_EACH_LANE(result, expression) \
  for (int l = 0; l < kWidth<R>; ++l) result.v[l] = expression;

template <class R>
WARPLOOM_INLINE Vector<R> fma(const Vector<R>& a, const Vector<R>& b, const Vector<R>& c) {
#if defined(__x86_64__) && WARPLOOM_VECTOR_BYTES == 64
  if constexpr (sizeof(R) == 4) return (typename Vector<R>::Lanes)_mm512_fmadd_ps((__m512)a.v, (__m512)b.v, (__m512)c.v);
  else return (typename Vector<R>::Lanes)_mm512_fmadd_pd((__m512d)a.v, (__m512d)b.v, (__m512d)c.v);
#elif defined(__x86_64__) && WARPLOOM_VECTOR_BYTES == 32
  if constexpr (sizeof(R) == 4) return (typename Vector<R>::Lanes)_mm256_fmadd_ps((__m256)a.v, (__m256)b.v, (__m256)c.v);
  else return (typename Vector<R>::Lanes)_mm256_fmadd_pd((__m256d)a.v, (__m256d)b.v, (__m256d)c.v);
#else
  Vector<R> result;
  WARPLOOM_EACH_LANE(result, portable::fma(a.v[l], b.v[l], c.v[l]))
  return result;
#endif
}
template <class R>
WARPLOOM_INLINE Vector<R> hardware_root(const Vector<R>& a) {
#if defined(__x86_64__) && WARPLOOM_VECTOR_BYTES == 64
  if constexpr (sizeof(R) == 4) return (typename Vector<R>::Lanes)_mm512_maskz_sqrt_ps(0xffff, (__m512)a.v);
  else return (typename Vector<R>::Lanes)_mm512_maskz_sqrt_pd(0xff, (__m512d)a.v);
#elif defined(__x86_64__) && WARPLOOM_VECTOR_BYTES == 32
  if constexpr (sizeof(R) == 4) return (typename Vector<R>::Lanes)_mm256_sqrt_ps((__m256)a.v);
  else return (typename Vector<R>::Lanes)_mm256_sqrt_pd((__m256d)a.v);
#elif defined(__x86_64__) && WARPLOOM_VECTOR_BYTES == 16
  if constexpr (sizeof(R) == 4) return (typename Vector<R>::Lanes)_mm_sqrt_ps((__m128)a.v);
  else return (typename Vector<R>::Lanes)_mm_sqrt_pd((__m128d)a.v);
#else
  Vector<R> result;
  WARPLOOM_EACH_LANE(result, (sizeof(R) == 4 ? __builtin_sqrtf(a.v[l]) : __builtin_sqrt(a.v[l])))
  return result;
#endif
}
#undef WARPLOOM_EACH_LANE

template <class R>
WARPLOOM_INLINE Vector<R> select(const Mask<R>& mask, const Vector<R>& a, const Vector<R>& b) {
  return mask.v ? a.v : b.v;
}
template <class R>
WARPLOOM_INLINE Vector<R> absolute(const Vector<R>& a) {
  using Integer = typename RegisterOf<R>::Integer;
  constexpr Integer kClear = static_cast<Integer>(~(Integer(1) << (8 * sizeof(R) - 1)));
  return (typename Vector<R>::Lanes)((typename Vector<R>::Bits)a.v & kClear);
}

/// Lane l becomes lane place[l] of a, or of b after a's.
template <class Lanes, class Bits>
WARPLOOM_INLINE Lanes shuffled(const Lanes& a, const Lanes& b, const Bits& place) {
#ifdef __clang__
  constexpr int kCount = static_cast<int>(sizeof(Lanes) / sizeof(a[0]));
  Lanes result = {};
  for (int l = 0; l < kCount; ++l) result[l] = place[l] < kCount ? a[place[l]] : b[place[l] - kCount];
  return result;
#else
  return __builtin_shuffle(a, b, place);
#endif
}

template <class R>
WARPLOOM_INLINE Vector<R> reciprocal(const Vector<R>& a) {
  using Range = portable::Range<R>;
  const Vector<R> size = absolute(a);
  const auto ordinary = (size >= Vector<R>(Range::kLeast)) & (size < Vector<R>(Range::kMost));
  return select(ordinary, Vector<R>(R(1)) / a, Vector<R>(R(__builtin_nan(""))));
}
template <class R>
WARPLOOM_INLINE Vector<R> square_root(const Vector<R>& a) {
  using Range = portable::Range<R>;
  const auto ordinary = (a >= Vector<R>(Range::kLeast)) & (a < Vector<R>(Range::kMost));
  return select(ordinary, hardware_root(a), Vector<R>(R(__builtin_nan(""))));
}
template <class R>
WARPLOOM_INLINE Vector<R> inverse_root(const Vector<R>& a) {
  return reciprocal(square_root(a));
}
template <class R>
WARPLOOM_INLINE Vector<R> quick_inverse_root(const Vector<R>& a) {
  return inverse_root(a);
}

}  // namespace warploom::cpu::WARPLOOM_ISA
