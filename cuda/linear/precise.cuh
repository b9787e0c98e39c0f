// Solutions in about twice the precision of the call, for refinement: double for floats, pairs of doubles for doubles.
#pragma once
#include "cuda/linear/residual.cuh"

namespace warploom::WARPLOOM_TARGET::linear {

/// The unevaluated sum high + low, where |low| is below half a unit in high's last place.
template <class T>
struct Twofold {
  T high, low;
};

template <class T> struct PreciseOfType { using Type = WideOf<T>; };
template <> struct PreciseOfType<double> { using Type = Twofold<double>; };
template <> struct PreciseOfType<Complex<double>> { using Type = Twofold<Complex<double>>; };
template <class T> using PreciseOf = typename PreciseOfType<T>::Type;

/// A backward error that rounding to T cannot reduce further.
template <class T> inline constexpr double kPreciseEnough = sizeof(RealOf<T>) == 4 ? 0x1p-46 : 0x1p-95;

WARPLOOM_DEVICE Twofold<double> add_twofold(const Twofold<double>& a, double b) {
  const double high = a.high + b, back = high - a.high;
  const double low = a.low + ((a.high - (high - back)) + (b - back));
  const double sum = high + low;
  return {sum, low - (sum - high)};
}

/// `value`, exactly.
template <class T>
WARPLOOM_DEVICE PreciseOf<T> precise(const T& value) {
  if constexpr (sizeof(RealOf<T>) == 4) {
    return widen(value);
  } else {
    return {value, T(0)};
  }
}
/// a + scale * b.
template <class T>
WARPLOOM_DEVICE PreciseOf<T> add_scaled(const PreciseOf<T>& a, double scale, const T& b) {
  if constexpr (sizeof(RealOf<T>) == 4) {
    return a + times(scale, widen(b));
  } else if constexpr (kIsComplex<T>) {
    const Twofold<double> re = add_twofold({a.high.re, a.low.re}, scale * b.re);
    const Twofold<double> im = add_twofold({a.high.im, a.low.im}, scale * b.im);
    return {{re.high, im.high}, {re.low, im.low}};
  } else {
    return add_twofold(a, scale * b);
  }
}
template <class T>
WARPLOOM_DEVICE T rounded(const PreciseOf<T>& a) {
  if constexpr (sizeof(RealOf<T>) == 4) {
    return narrow<T>(a);
  } else {
    return a.high;
  }
}
template <class T>
WARPLOOM_DEVICE void subtract(RowSum<T>& sum, const T& entry, const PreciseOf<T>& unknown) {
  if constexpr (sizeof(RealOf<T>) == 4) {
    sum.subtract(entry, unknown);
  } else {
    sum.subtract(entry, unknown.high);
    sum.subtract_low(entry, unknown.low);
  }
}

}  // namespace warploom::WARPLOOM_TARGET::linear
