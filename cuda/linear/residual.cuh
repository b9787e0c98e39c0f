// Residuals, added up row by row, and the backward errors computed from them.
#pragma once
#include "cuda/linear/row_scale.cuh"

namespace warploom::WARPLOOM_TARGET::linear {

/// The type of residuals. For floats it is double, in which their products are exact. For doubles it is double as well;
/// RowSum adds up their products together with the rounding errors.
template <class T> struct WideOfType { using Type = double; };
template <class R> struct WideOfType<Complex<R>> { using Type = Complex<double>; };
template <class T> using WideOf = typename WideOfType<T>::Type;

WARPLOOM_DEVICE double widen(float a) { return a; }
WARPLOOM_DEVICE double widen(double a) { return a; }
WARPLOOM_DEVICE Complex<double> widen(const Complex<float>& a) { return {a.re, a.im}; }
WARPLOOM_DEVICE Complex<double> widen(const Complex<double>& a) { return a; }

/// Rounds to T.
template <class T>
WARPLOOM_DEVICE T narrow(const WideOf<T>& a) {
  if constexpr (kIsComplex<T>) {
    return T(static_cast<RealOf<T>>(a.re), static_cast<RealOf<T>>(a.im));
  } else {
    return static_cast<T>(a);
  }
}

template <class R> inline constexpr double kEpsilon = sizeof(R) == 4 ? 0x1p-23 : 0x1p-52;
/// Smallest normal number.
template <class R> inline constexpr double kLeastNormal = sizeof(R) == 4 ? 0x1p-126 : 0x1p-1022;
/// Componentwise backward error below which a pivoted solve stops correcting.
template <class R> inline constexpr double kGoodError = 2 * kEpsilon<R>;
/// Largest accepted componentwise backward error if the caller specifies none.
template <class T> inline constexpr double kDefaultTolerance = 64 * kEpsilon<RealOf<T>>;
/// Largest accepted |b - A x|_1 / (|A|_1 |x|_1 epsilon) of the pivoted solver.
inline constexpr double kLargestResidualRatio = 30;

// IEEE division; complex by Smith's scaling, so that only an overflowing quotient overflows.
WARPLOOM_DEVICE float divide(float a, float b) { return a / b; }
WARPLOOM_DEVICE double divide(double a, double b) { return a / b; }
template <class R>
WARPLOOM_DEVICE Complex<R> divide(const Complex<R>& a, const Complex<R>& b) {
  if (device::absolute(b.re) >= device::absolute(b.im)) {
    const R ratio = b.im / b.re;
    const R scale = device::fma(b.im, ratio, b.re);
    return {device::fma(a.im, ratio, a.re) / scale, device::fma(-a.re, ratio, a.im) / scale};
  }
  const R ratio = b.re / b.im;
  const R scale = device::fma(b.re, ratio, b.im);
  return {device::fma(a.re, ratio, a.im) / scale, device::fma(a.im, ratio, -a.re) / scale};
}

/// x + correction, or zero if the correction cancels all of x: then only rounding is left and, if the unknown is really
/// zero, further corrections would leave just as much.
template <class T>
WARPLOOM_DEVICE T corrected(const T& x, const T& correction) {
  const T sum = x + correction;
  const bool none = device::absolute(sum) <= static_cast<RealOf<T>>(16 * kEpsilon<RealOf<T>>) * device::absolute(x);
  return none ? T(RealOf<T>(0)) : sum;
}

/// b - A x of one row and |A||x| + |b|, both in units of `up`, the power of two by which the row is scaled.
template <class T>
struct RowResidual {
  WideOf<T> residual;
  double scale;
  double up;
};

/// A real residual. For doubles the rounding errors of products and sums are kept, so that it is as good as one
/// computed in twice the precision (Ogita, Rump, Oishi 2005); for floats double is enough.
template <bool kCompensated>
struct RealSum {
  double sum = 0, lost = 0;
  WARPLOOM_DEVICE void subtract(double a, double x) {
    if constexpr (kCompensated) {
      const double product = a * x, rest = sum - product, back = rest - sum;
      lost += (sum - (rest - back)) - (product + back) - device::fma(a, x, -product);
      sum = rest;
    } else {
      sum = device::fma(-a, x, sum);
    }
  }
  WARPLOOM_DEVICE double value() const { return kCompensated ? sum + lost : sum; }
};

/// Adds up one scaled row. An unknown below the smallest normal number has lost digits that no solver could have kept;
/// the scale counts it as that number.
template <class T>
class RowSum {
 public:
  using Wide = WideOf<T>;
  WARPLOOM_DEVICE RowSum(const T& rhs, const Powers<RealOf<T>>& powers) : down_(powers.down), up_(powers.up) {
    const Wide value = times(down_, widen(rhs));
    if constexpr (kIsComplex<T>) {
      real_.sum = value.re;
      imaginary_.sum = value.im;
    } else {
      real_.sum = value;
    }
    scale_ = modulus(value);
  }
  WARPLOOM_DEVICE void subtract(const T& entry, const Wide& unknown) {
    const Wide a = times(down_, widen(entry));
    subtract_product(a, unknown);
    scale_ += modulus(a) * device::maximum(modulus(unknown), kLeastNormal<RealOf<T>>);
  }
  /// Subtracts the product with the part of the unknown beyond its precision.
  WARPLOOM_DEVICE void subtract_low(const T& entry, const Wide& low) { subtract_product(times(down_, widen(entry)), low); }
  WARPLOOM_DEVICE RowResidual<T> result() const {
    if constexpr (kIsComplex<T>) {
      return {{real_.value(), imaginary_.value()}, scale_, up_};
    } else {
      return {real_.value(), scale_, up_};
    }
  }

 private:
  WARPLOOM_DEVICE void subtract_product(const Wide& a, const Wide& x) {
    if constexpr (kIsComplex<T>) {
      real_.subtract(a.re, x.re);
      real_.subtract(-a.im, x.im);
      imaginary_.subtract(a.re, x.im);
      imaginary_.subtract(a.im, x.re);
    } else {
      real_.subtract(a, x);
    }
  }

  double down_, up_, scale_;
  RealSum<sizeof(RealOf<T>) == 8> real_, imaginary_;
};

/// Raises `worst` to |residual| / scale of one row; 0 / 0 is 0. Over several rows this gives the largest quotient, in
/// any order. The comparison by products has a margin for rounding, and rows within it are divided too.
WARPLOOM_DEVICE double raise_backward_error(double worst, double residual, double scale) {
  constexpr double kNear = 1 + 0x1p-50;
  return residual * kNear > worst * scale ? device::maximum(residual / scale, worst) : worst;
}

}  // namespace warploom::WARPLOOM_TARGET::linear
