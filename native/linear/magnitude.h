// Powers of two for rows, and moduli. Include after lanes.h, once per instruction set.
#pragma once
#include "native/linear/lanes.h"

namespace warploom::cpu::WARPLOOM_ISA {

template <class R> struct RealLimits;
template <> struct RealLimits<float> {
  using Word = int32_t;
  static constexpr float kEpsilon = 1.1920929e-7f, kSafe = 1.17549435e-38f, kInfinity = __builtin_inff();
  static constexpr int kMantissaBits = 23, kBias = 127;
};
template <> struct RealLimits<double> {
  using Word = int64_t;
  static constexpr double kEpsilon = 2.220446049250313e-16, kSafe = 2.2250738585072014e-308,
                          kInfinity = __builtin_inf();
  static constexpr int kMantissaBits = 52, kBias = 1023;
};

/// up: the largest power of two <= size; down: 1 / up. For subnormal and huge sizes, the nearest pair of normal powers.
template <class V>
struct Powers {
  V up, down;
};

template <class R, int N>
WARPLOOM_INLINE Powers<Pack<R, N>> powers_of(const Pack<R, N>& size) {
  if constexpr (N == kRegisterLanes<R>) {
    typedef typename RegisterOf<R>::Mask Bits;
    typedef typename RegisterOf<R>::Vector Vector;
    using I = typename RegisterOf<R>::Index;
    using Limits = RealLimits<R>;
    constexpr I kOne = I(1) << Limits::kMantissaBits;
    constexpr I kMask = kOne * (2 * Limits::kBias + 1), kMost = kOne * (2 * Limits::kBias - 1);
    Bits up = (Bits)size.v & kMask;
    up = up < kOne ? Bits{} + kOne : up;
    up = up > kMost ? Bits{} + kMost : up;
    const Bits down = kOne * (2 * Limits::kBias) - up;
    return {Pack<R, N>{(Vector)up}, Pack<R, N>{(Vector)down}};
  } else {
    const auto lo = powers_of(size.lo), hi = powers_of(size.hi);
    return {Pack<R, N>{lo.up, hi.up}, Pack<R, N>{lo.down, hi.down}};
  }
}
template <class R>
WARPLOOM_INLINE Powers<R> powers_of_one(R size) {
  using Limits = RealLimits<R>;
  using Word = typename Limits::Word;
  constexpr Word kOne = Word(1) << Limits::kMantissaBits;
  constexpr Word kMask = kOne * (2 * Limits::kBias + 1), kMost = kOne * (2 * Limits::kBias - 1);
  Word up;
  __builtin_memcpy(&up, &size, sizeof(R));
  up &= kMask;
  up = up < kOne ? kOne : up > kMost ? kMost : up;
  const Word down = kOne * (2 * Limits::kBias) - up;
  Powers<R> powers;
  __builtin_memcpy(&powers.up, &up, sizeof(R));
  __builtin_memcpy(&powers.down, &down, sizeof(R));
  return powers;
}
WARPLOOM_INLINE Powers<float> powers_of(float size) { return powers_of_one(size); }
WARPLOOM_INLINE Powers<double> powers_of(double size) { return powers_of_one(size); }

WARPLOOM_INLINE float square_root(float a) { return __builtin_sqrtf(a); }
WARPLOOM_INLINE double square_root(double a) { return __builtin_sqrt(a); }
template <class R, int N>
WARPLOOM_INLINE Pack<R, N> square_root(const Pack<R, N>& a) {
  if constexpr (N != kRegisterLanes<R>) {
    return Pack<R, N>{square_root(a.lo), square_root(a.hi)};
  } else {
#if defined(__x86_64__) && WARPLOOM_VECTOR_BYTES == 64
    if constexpr (sizeof(R) == 4) return Pack<R, N>{__builtin_ia32_sqrtps512_mask(a.v, a.v, -1, 4)};
    else return Pack<R, N>{__builtin_ia32_sqrtpd512_mask(a.v, a.v, -1, 4)};
#elif defined(__x86_64__) && WARPLOOM_VECTOR_BYTES == 32
    if constexpr (sizeof(R) == 4) return Pack<R, N>{__builtin_ia32_sqrtps256(a.v)};
    else return Pack<R, N>{__builtin_ia32_sqrtpd256(a.v)};
#elif defined(__x86_64__)
    if constexpr (sizeof(R) == 4) return Pack<R, N>{__builtin_ia32_sqrtps(a.v)};
    else return Pack<R, N>{__builtin_ia32_sqrtpd(a.v)};
#else
    Pack<R, N> result;
    for (int l = 0; l < N; ++l) result.v[l] = square_root(static_cast<R>(a.v[l]));
    return result;
#endif
  }
}

template <class V>
WARPLOOM_INLINE V larger(const V& a, const V& b) {
  return select(a < b, b, a);
}

/// |a|. For complex numbers it does not overflow or underflow on the way, whereas absolute() is only accurate to a
/// factor of sqrt(2).
template <class V>
WARPLOOM_INLINE V modulus(const V& a) {
  return absolute(a);
}
template <class V>
WARPLOOM_INLINE V modulus(const Complex<V>& a) {
  const V re = absolute(a.re), im = absolute(a.im);
  const Powers<V> powers = powers_of(larger(re, im));
  const V x = re * powers.down, y = im * powers.down;
  return square_root(x * x + y * y) * powers.up;
}

template <class V>
WARPLOOM_INLINE V times(const V& factor, const V& a) {
  return factor * a;
}
template <class V>
WARPLOOM_INLINE Complex<V> times(const V& factor, const Complex<V>& a) {
  return {factor * a.re, factor * a.im};
}

/// |r| / scale of one row. 0/0 gives zero; anything not finite gives infinity.
template <class V>
WARPLOOM_INLINE V row_error(const V& residual, const V& scale) {
  using Limits = RealLimits<typename LanesOf<V>::Real>;
  const V ratio = residual / scale, infinity = broadcast<V>(Limits::kInfinity);
  return select(is_zero(residual), residual, select(ratio <= infinity, ratio, infinity));
}

}  // namespace warploom::cpu::WARPLOOM_ISA
