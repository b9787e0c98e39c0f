// Complex numbers for device code, and arithmetic that reads the same for real and complex scalars.
#pragma once
#include "cuda/core/device.cuh"

namespace warploom::WARPLOOM_TARGET {

/// One complex number of real type R, stored as (real, imaginary).
template <class R>
struct alignas(2 * sizeof(R)) Complex {
  R re, im;
  Complex() = default;
  WARPLOOM_HOST_DEVICE Complex(R real, R imaginary = R(0)) : re(real), im(imaginary) {}
};

template <class T> struct RealOfType { using Type = T; };
template <class R> struct RealOfType<Complex<R>> { using Type = R; };
/// float for float and Complex<float>, double for double and Complex<double>.
template <class T> using RealOf = typename RealOfType<T>::Type;
template <class T> inline constexpr bool kIsComplex = sizeof(T) != sizeof(RealOf<T>);

// Operators are declared next to the type, where argument-dependent lookup finds them.
template <class R>
WARPLOOM_DEVICE Complex<R> operator-(const Complex<R>& a) { return {-a.re, -a.im}; }
template <class R>
WARPLOOM_DEVICE Complex<R> operator+(const Complex<R>& a, const Complex<R>& b) {
  return {a.re + b.re, a.im + b.im};
}
template <class R>
WARPLOOM_DEVICE Complex<R> operator-(const Complex<R>& a, const Complex<R>& b) {
  return {a.re - b.re, a.im - b.im};
}
template <class R>
WARPLOOM_DEVICE Complex<R> operator*(const Complex<R>& a, const Complex<R>& b) {
  return {device::fma(a.re, b.re, -(a.im * b.im)), device::fma(a.re, b.im, a.im * b.re)};
}
namespace device {

/// a*b + c, each part with two fused operations.
template <class R>
WARPLOOM_DEVICE Complex<R> fma(const Complex<R>& a, const Complex<R>& b, const Complex<R>& c) {
  return {fma(-a.im, b.im, fma(a.re, b.re, c.re)), fma(a.im, b.re, fma(a.re, b.im, c.im))};
}
/// 1/a by Smith's scaling: no overflow for representable results.
template <class R>
WARPLOOM_DEVICE Complex<R> reciprocal(const Complex<R>& a) {
  if (absolute(a.re) >= absolute(a.im)) {
    const R ratio = a.im / a.re;
    const R scale = reciprocal(fma(a.im, ratio, a.re));
    return {scale, -ratio * scale};
  }
  const R ratio = a.re / a.im;
  const R scale = reciprocal(fma(a.re, ratio, a.im));
  return {ratio * scale, -scale};
}
/// |re| + |im|: within sqrt(2) of the modulus, the measure LAPACK pivots by.
template <class R>
WARPLOOM_DEVICE R absolute(const Complex<R>& a) { return absolute(a.re) + absolute(a.im); }
template <class R>
WARPLOOM_DEVICE bool is_finite(const Complex<R>& a) { return is_finite(a.re) && is_finite(a.im); }
/// Complex reciprocals are always exact, because the scaling branches anyway.
template <class R>
WARPLOOM_DEVICE Complex<R> ordinary_reciprocal(const Complex<R>& a, bool& ordinary) {
  const Complex<R> value = reciprocal(a);
  ordinary = ordinary && is_finite(value) && absolute(value) > 0;
  return value;
}
WARPLOOM_DEVICE float conjugate(float a) { return a; }
WARPLOOM_DEVICE double conjugate(double a) { return a; }
template <class R>
WARPLOOM_DEVICE Complex<R> conjugate(const Complex<R>& a) { return {a.re, -a.im}; }

}  // namespace device

/// Element `at` of an array that may be split into real and imaginary parts.
template <class T>
WARPLOOM_DEVICE T load_scalar(const T* data, const RealOf<T>* imaginary, int64_t at, bool conjugated) {
  if constexpr (kIsComplex<T>) {
    const T value = imaginary != nullptr
                        ? T(reinterpret_cast<const RealOf<T>*>(data)[at], imaginary[at])
                        : data[at];
    return conjugated ? device::conjugate(value) : value;
  } else {
    return data[at];
  }
}
template <class T>
WARPLOOM_DEVICE void store_scalar(T* data, RealOf<T>* imaginary, int64_t at, const T& value) {
  if constexpr (kIsComplex<T>) {
    if (imaginary != nullptr) {
      reinterpret_cast<RealOf<T>*>(data)[at] = value.re;
      imaginary[at] = value.im;
      return;
    }
  }
  data[at] = value;
}

}  // namespace warploom::WARPLOOM_TARGET
