// Arithmetic with one meaning on every backend: the same bits from nvcc's device code, the SIMT shim and the CPU backend.
// Point functions of solvers are written with these names in plain C++, as templates of the number type, and compiled by all
// three; the CPU backend instantiates them with vectors (native/swept/), for which it overloads the same names.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define WARPLOOM_PORTABLE __host__ __device__ __forceinline__
#else
#define WARPLOOM_PORTABLE inline __attribute__((always_inline))
#endif

namespace warploom::portable {

WARPLOOM_PORTABLE float fma(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  return __fmaf_rn(a, b, c);
#else
  return __builtin_fmaf(a, b, c);
#endif
}
WARPLOOM_PORTABLE double fma(double a, double b, double c) {
#ifdef __CUDA_ARCH__
  return __fma_rn(a, b, c);
#else
  return __builtin_fma(a, b, c);
#endif
}

WARPLOOM_PORTABLE float absolute(float a) { return fabsf(a); }
WARPLOOM_PORTABLE double absolute(double a) { return fabs(a); }

template <class T>
WARPLOOM_PORTABLE T select(bool condition, const T& a, const T& b) { return condition ? a : b; }

/// Magnitudes that reciprocal() and square_root() take: outside they give NaN, so that one branch-free sequence serves.
template <class T> struct Range;
template <> struct Range<float> {
  static constexpr float kLeast = 0x1p-125f, kMost = 0x1p125f;
};
template <> struct Range<double> {
  static constexpr double kLeast = 0x1p-1000, kMost = 0x1p1000;
};

/// 1/a rounded to nearest for kLeast <= |a| < kMost, NaN elsewhere.
WARPLOOM_PORTABLE float reciprocal(float a) {
  const bool ordinary = (fabsf(a) >= Range<float>::kLeast) & (fabsf(a) < Range<float>::kMost);
#ifdef __CUDA_ARCH__
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
  r = __fmaf_rn(r, __fmaf_rn(-a, r, 1.0f), r);
  return ordinary ? r : __int_as_float(0x7fc00000);
#else
  return ordinary ? 1.0f / a : __builtin_nanf("");
#endif
}
WARPLOOM_PORTABLE double reciprocal(double a) {
#ifdef __CUDA_ARCH__
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(a));
  // The high word decides: 2^-1000 <= |a| < 2^1000.
  const unsigned int high = static_cast<unsigned int>(__double2hiint(a)) & 0x7fffffffu;
  const bool ordinary = high - 0x01700000u < 0x7e700000u - 0x01700000u;
  double e = __fma_rn(-a, r, 1.0);
  e = __fma_rn(e, e, e);
  r = __fma_rn(r, e, r);
  r = __fma_rn(r, __fma_rn(-a, r, 1.0), r);
  return ordinary ? r : __hiloint2double(0x7ff80000, 0);
#else
  const bool ordinary = (fabs(a) >= Range<double>::kLeast) & (fabs(a) < Range<double>::kMost);
  return ordinary ? 1.0 / a : __builtin_nan("");
#endif
}

/// Square root of a rounded to nearest for kLeast <= a < kMost, NaN elsewhere, also for zero.
WARPLOOM_PORTABLE float square_root(float a) {
  const bool ordinary = (a >= Range<float>::kLeast) & (a < Range<float>::kMost);
#ifdef __CUDA_ARCH__
  return ordinary ? __fsqrt_rn(a) : __int_as_float(0x7fc00000);
#else
  return ordinary ? __builtin_sqrtf(a) : __builtin_nanf("");
#endif
}
WARPLOOM_PORTABLE double square_root(double a) {
  const bool ordinary = (a >= Range<double>::kLeast) & (a < Range<double>::kMost);
#ifdef __CUDA_ARCH__
  return ordinary ? __dsqrt_rn(a) : __hiloint2double(0x7ff80000, 0);
#else
  return ordinary ? __builtin_sqrt(a) : __builtin_nan("");
#endif
}

}  // namespace warploom::portable
