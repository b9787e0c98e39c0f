// Vectors of kLanes systems, and complex numbers made of them. Compiled once per instruction set, in the
// namespace WARPLOOM_ISA, with WARPLOOM_VECTOR_BYTES the width of a register: include only from
// the isa_*.cpp of a domain, after every standard header.
//
// A lane is one system. Lanes never mix in arithmetic and no operation is fused, so results have the same bits on every
// instruction set, whatever the neighbouring systems contain.
#pragma once
#include <cstdint>

#ifndef WARPLOOM_ISA
#error "define WARPLOOM_ISA and WARPLOOM_VECTOR_BYTES first"
#endif
#define WARPLOOM_INLINE inline __attribute__((always_inline))

namespace warploom::cpu::WARPLOOM_ISA {

/// Lanes of a full tile: as many as one cache line holds of the real type.
template <class R>
inline constexpr int kTileLanes = 64 / static_cast<int>(sizeof(R));

template <class R> struct RegisterOf;
template <> struct RegisterOf<float> {
  typedef float Vector __attribute__((vector_size(WARPLOOM_VECTOR_BYTES)));
  typedef int32_t Mask __attribute__((vector_size(WARPLOOM_VECTOR_BYTES)));
  using Index = int32_t;
};
template <> struct RegisterOf<double> {
  typedef double Vector __attribute__((vector_size(WARPLOOM_VECTOR_BYTES)));
  typedef int64_t Mask __attribute__((vector_size(WARPLOOM_VECTOR_BYTES)));
  using Index = int64_t;
};
template <class R>
inline constexpr int kRegisterLanes = WARPLOOM_VECTOR_BYTES / static_cast<int>(sizeof(R));

/// N lanes of real type R: a register, or two halves.
template <class R, int N, bool kNative = N == kRegisterLanes<R>>
struct Pack {
  using Half = Pack<R, N / 2>;
  Half lo, hi;
};
template <class R, int N>
struct Pack<R, N, true> {
  typename RegisterOf<R>::Vector v;
};
/// One truth value (0 or ~0), or one row number, per lane.
template <class R, int N, bool kNative = N == kRegisterLanes<R>>
struct Mask {
  using Half = Mask<R, N / 2>;
  Half lo, hi;
};
template <class R, int N>
struct Mask<R, N, true> {
  typename RegisterOf<R>::Mask v;
};

// clang-format off
#define WARPLOOM_BINARY(Result, Operand, name, expression)                                \
  template <class R, int N>                                                               \
  WARPLOOM_INLINE Result<R, N> name(const Operand<R, N>& a, const Operand<R, N>& b) {     \
    if constexpr (N == kRegisterLanes<R>) return Result<R, N>{expression};                \
    else return Result<R, N>{name(a.lo, b.lo), name(a.hi, b.hi)};                         \
  }
#define WARPLOOM_UNARY(Result, Operand, name, expression)                                 \
  template <class R, int N>                                                               \
  WARPLOOM_INLINE Result<R, N> name(const Operand<R, N>& a) {                             \
    if constexpr (N == kRegisterLanes<R>) return Result<R, N>{expression};                \
    else return Result<R, N>{name(a.lo), name(a.hi)};                                     \
  }
WARPLOOM_BINARY(Pack, Pack, operator+, a.v + b.v)
WARPLOOM_BINARY(Pack, Pack, operator-, a.v - b.v)
WARPLOOM_BINARY(Pack, Pack, operator*, a.v * b.v)
WARPLOOM_BINARY(Pack, Pack, operator/, a.v / b.v)
WARPLOOM_BINARY(Mask, Pack, operator<, a.v < b.v)
WARPLOOM_BINARY(Mask, Pack, operator<=, a.v <= b.v)
WARPLOOM_BINARY(Mask, Pack, operator==, a.v == b.v)
WARPLOOM_BINARY(Mask, Mask, operator&, a.v & b.v)
WARPLOOM_BINARY(Mask, Mask, operator|, a.v | b.v)
WARPLOOM_BINARY(Mask, Mask, operator<, a.v < b.v)
WARPLOOM_BINARY(Mask, Mask, operator==, a.v == b.v)
WARPLOOM_UNARY(Mask, Mask, operator~, ~a.v)
WARPLOOM_UNARY(Pack, Pack, operator-, -a.v)
#undef WARPLOOM_BINARY
#undef WARPLOOM_UNARY
// clang-format on

template <class R, int N>
WARPLOOM_INLINE Pack<R, N> select(const Mask<R, N>& m, const Pack<R, N>& a, const Pack<R, N>& b) {
  if constexpr (N == kRegisterLanes<R>) {
    return Pack<R, N>{m.v ? a.v : b.v};
  } else {
    return Pack<R, N>{select(m.lo, a.lo, b.lo), select(m.hi, a.hi, b.hi)};
  }
}
template <class R, int N>
WARPLOOM_INLINE Mask<R, N> select(const Mask<R, N>& m, const Mask<R, N>& a, const Mask<R, N>& b) {
  return (m & a) | (~m & b);
}
WARPLOOM_INLINE float select(bool m, float a, float b) { return m ? a : b; }
WARPLOOM_INLINE double select(bool m, double a, double b) { return m ? a : b; }
WARPLOOM_INLINE int64_t select(bool m, int64_t a, int64_t b) { return m ? a : b; }

/// What generic code needs to know about a vector of lanes; a plain real number is one lane.
template <class V> struct LanesOf {
  using Real = V;
  using Bools = bool;
  using Index = int64_t;
  static constexpr int kCount = 1;
};
template <class R, int N> struct LanesOf<Pack<R, N>> {
  using Real = R;
  using Bools = Mask<R, N>;
  using Index = Mask<R, N>;
  static constexpr int kCount = N;
};

template <class V>
WARPLOOM_INLINE V broadcast(typename LanesOf<V>::Real value) {
  if constexpr (LanesOf<V>::kCount == 1) {
    return value;
  } else {
    V result;
    using R = typename LanesOf<V>::Real;
    if constexpr (LanesOf<V>::kCount == kRegisterLanes<R>) {
      result.v = typename RegisterOf<R>::Vector{} + value;
    } else {
      result.lo = result.hi = broadcast<decltype(result.lo)>(value);
    }
    return result;
  }
}
template <class R, int N>
WARPLOOM_INLINE void fill_mask(Mask<R, N>* mask, int64_t value) {
  if constexpr (N == kRegisterLanes<R>) {
    mask->v = typename RegisterOf<R>::Mask{} + static_cast<typename RegisterOf<R>::Index>(value);
  } else {
    fill_mask(&mask->lo, value);
    mask->hi = mask->lo;
  }
}
/// The same row number in every lane.
template <class V>
WARPLOOM_INLINE typename LanesOf<V>::Index index_lanes(int64_t value) {
  if constexpr (LanesOf<V>::kCount == 1) {
    return value;
  } else {
    typename LanesOf<V>::Index result;
    fill_mask(&result, value);
    return result;
  }
}
template <class R, int N>
WARPLOOM_INLINE bool any(const Mask<R, N>& m) {
  const auto* lanes = reinterpret_cast<const typename RegisterOf<R>::Index*>(&m);
  typename RegisterOf<R>::Index all = 0;
  for (int i = 0; i < N; ++i) all |= lanes[i];
  return all != 0;
}
WARPLOOM_INLINE bool any(bool m) { return m; }

template <class R, int N>
WARPLOOM_INLINE Pack<R, N> absolute(const Pack<R, N>& a) {
  if constexpr (N == kRegisterLanes<R>) {
    typedef typename RegisterOf<R>::Mask Bits;
    using I = typename RegisterOf<R>::Index;
    constexpr I kClear = static_cast<I>(~(I(1) << (8 * sizeof(R) - 1)));
    return Pack<R, N>{(typename RegisterOf<R>::Vector)((Bits)a.v & kClear)};
  } else {
    return Pack<R, N>{absolute(a.lo), absolute(a.hi)};
  }
}
WARPLOOM_INLINE float absolute(float a) { return __builtin_fabsf(a); }
WARPLOOM_INLINE double absolute(double a) { return __builtin_fabs(a); }

template <class R, int N>
WARPLOOM_INLINE Pack<R, N> reciprocal(const Pack<R, N>& a) { return broadcast<Pack<R, N>>(R(1)) / a; }
WARPLOOM_INLINE float reciprocal(float a) { return 1.0f / a; }
WARPLOOM_INLINE double reciprocal(double a) { return 1.0 / a; }

/// Complex numbers, one per lane.
template <class V>
struct Complex {
  V re, im;
};

/// The vector type of a generic scalar S, which is a V or a Complex<V>.
template <class S> struct ScalarOf {
  using Lanes = S;
  static constexpr bool kComplex = false;
};
template <class V> struct ScalarOf<Complex<V>> {
  using Lanes = V;
  static constexpr bool kComplex = true;
};
template <class S> using LanesType = typename ScalarOf<S>::Lanes;
template <class S> using RealType = typename LanesOf<LanesType<S>>::Real;
template <class S> using BoolsType = typename LanesOf<LanesType<S>>::Bools;
template <class S> using IndexType = typename LanesOf<LanesType<S>>::Index;
/// Real numbers per lane in one S.
template <class S> inline constexpr int kParts = ScalarOf<S>::kComplex ? 2 : 1;
template <class S> inline constexpr int kLanes = LanesOf<LanesType<S>>::kCount;

template <class V>
WARPLOOM_INLINE Complex<V> operator+(const Complex<V>& a, const Complex<V>& b) { return {a.re + b.re, a.im + b.im}; }
template <class V>
WARPLOOM_INLINE Complex<V> operator-(const Complex<V>& a, const Complex<V>& b) { return {a.re - b.re, a.im - b.im}; }
template <class V>
WARPLOOM_INLINE Complex<V> operator-(const Complex<V>& a) { return {-a.re, -a.im}; }
template <class V>
WARPLOOM_INLINE Complex<V> operator*(const Complex<V>& a, const Complex<V>& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class M, class V>
WARPLOOM_INLINE Complex<V> select(const M& m, const Complex<V>& a, const Complex<V>& b) {
  return {select(m, a.re, b.re), select(m, a.im, b.im)};
}
/// |re| + |im|, the measure LAPACK pivots by (cabs1).
template <class V>
WARPLOOM_INLINE V absolute(const Complex<V>& a) { return absolute(a.re) + absolute(a.im); }
/// 1/a by Smith's scaling (Smith, Algorithm 116, 1962): no overflow for representable results.
template <class V>
WARPLOOM_INLINE Complex<V> reciprocal(const Complex<V>& a) {
  const auto swap = absolute(a.re) < absolute(a.im);
  const V large = select(swap, a.im, a.re), small = select(swap, a.re, a.im);
  const V ratio = small / large;
  const V scale = reciprocal(large + small * ratio);
  return {select(swap, ratio * scale, scale), select(swap, -scale, -(ratio * scale))};
}
template <class V>
WARPLOOM_INLINE Complex<V> operator/(const Complex<V>& a, const Complex<V>& b) { return a * reciprocal(b); }

template <class S>
WARPLOOM_INLINE S constant(RealType<S> value) {
  if constexpr (ScalarOf<S>::kComplex) {
    return {broadcast<LanesType<S>>(value), broadcast<LanesType<S>>(0)};
  } else {
    return broadcast<S>(value);
  }
}
template <class V>
WARPLOOM_INLINE auto is_zero(const V& a) { return a == broadcast<V>(0); }
template <class V>
WARPLOOM_INLINE auto is_zero(const Complex<V>& a) { return is_zero(a.re) & is_zero(a.im); }
/// Zero where all parts are finite, NaN elsewhere.
template <class V>
WARPLOOM_INLINE V trouble(const V& a) { return a - a; }
template <class V>
WARPLOOM_INLINE V trouble(const Complex<V>& a) { return (a.re - a.re) + (a.im - a.im); }
template <class V>
WARPLOOM_INLINE auto is_finite(const V& a) { return is_zero(trouble(a)); }

}  // namespace warploom::cpu::WARPLOOM_ISA
