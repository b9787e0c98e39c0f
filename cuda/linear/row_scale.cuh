// Powers of two for rows, and moduli.
#pragma once
#include <cstring>

#include "cuda/core/complex.cuh"

namespace warploom::WARPLOOM_TARGET::linear {

/// up: the largest power of two <= size; down: 1 / up. For subnormal and huge sizes, the nearest pair of normal powers.
template <class R>
struct Powers {
  R up, down;
};
WARPLOOM_DEVICE Powers<float> powers_of(float size) {
  constexpr uint32_t kOne = 1u << 23;
  uint32_t up;
  memcpy(&up, &size, sizeof(up));
  up &= 0x7f800000u;
  up = up < kOne ? kOne : up > 253 * kOne ? 253 * kOne : up;
  const uint32_t down = 254 * kOne - up;
  Powers<float> powers;
  memcpy(&powers.up, &up, sizeof(up));
  memcpy(&powers.down, &down, sizeof(down));
  return powers;
}
WARPLOOM_DEVICE Powers<double> powers_of(double size) {
  constexpr uint64_t kOne = uint64_t{1} << 52;
  uint64_t up;
  memcpy(&up, &size, sizeof(up));
  up &= 0x7ff0000000000000u;
  up = up < kOne ? kOne : up > 2045 * kOne ? 2045 * kOne : up;
  const uint64_t down = 2046 * kOne - up;
  Powers<double> powers;
  memcpy(&powers.up, &up, sizeof(up));
  memcpy(&powers.down, &down, sizeof(down));
  return powers;
}

WARPLOOM_DEVICE float times(float factor, float a) { return factor * a; }
WARPLOOM_DEVICE double times(double factor, double a) { return factor * a; }
template <class R>
WARPLOOM_DEVICE Complex<R> times(R factor, const Complex<R>& a) {
  return {factor * a.re, factor * a.im};
}

/// |a|. For complex numbers it does not overflow or underflow on the way, whereas device::absolute is only accurate to
/// a factor of sqrt(2).
WARPLOOM_DEVICE float modulus(float a) { return device::absolute(a); }
WARPLOOM_DEVICE double modulus(double a) { return device::absolute(a); }
template <class R>
WARPLOOM_DEVICE R modulus(const Complex<R>& a) {
  const R re = device::absolute(a.re), im = device::absolute(a.im);
  const Powers<R> powers = powers_of(device::maximum(re, im));
  const R x = re * powers.down, y = im * powers.down;
  return device::square_root(device::fma(x, x, y * y)) * powers.up;
}

/// Bounds of the modulus without a square root, each within 8.3 %: octagons inside and outside the circle.
WARPLOOM_DEVICE float at_least_modulus(float a) { return device::absolute(a); }
WARPLOOM_DEVICE double at_least_modulus(double a) { return device::absolute(a); }
template <class R>
WARPLOOM_DEVICE R at_least_modulus(const Complex<R>& a) {
  const R re = device::absolute(a.re), im = device::absolute(a.im), large = device::maximum(re, im);
  return device::fma(R(0.41421357), re + im - large, large);
}
WARPLOOM_DEVICE float at_most_modulus(float a) { return device::absolute(a); }
WARPLOOM_DEVICE double at_most_modulus(double a) { return device::absolute(a); }
template <class R>
WARPLOOM_DEVICE R at_most_modulus(const Complex<R>& a) {
  const R re = device::absolute(a.re), im = device::absolute(a.im);
  return device::maximum(device::maximum(re, im), R(0.70710677) * (re + im));
}

}  // namespace warploom::WARPLOOM_TARGET::linear
