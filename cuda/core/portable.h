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

/// Magnitudes that reciprocal() and square_root() take: outside they give NaN, so that one branch-free sequence serves. Above
/// kLeast the remainder of a rounded root is exact.
template <class T> struct Range;
template <> struct Range<float> {
  static constexpr float kLeast = 0x1p-100f, kMost = 0x1p125f;
  static constexpr int kLeastWord = 0x0d800000, kMostWord = 0x7e000000;  ///< the same as (high) words of the number
};
template <> struct Range<double> {
  static constexpr double kLeast = 0x1p-960, kMost = 0x1p1000;
  static constexpr int kLeastWord = 0x03f00000, kMostWord = 0x7e700000;
};

#ifdef __CUDA_ARCH__
namespace words {
/// `high` where `ordinary`, else the word of a NaN.
__device__ __forceinline__ int or_nan(bool ordinary, int high) { return ordinary ? high : 0x7ff80000; }
/// Whether the word of |a| is in the range is told from (word + 2^31 - kMostWord) without the sign: from kMostWord on this sum
/// starts again at zero.
template <class T>
__device__ __forceinline__ int from_most(int word) { return word + static_cast<int>(0x80000000u - Range<T>::kMostWord); }
template <class T>
__device__ __forceinline__ bool ordinary(int from_most) {
  // A comparison of floats takes the magnitude at no cost; NaN patterns are in the range.
  constexpr int kFirst = static_cast<int>(0x80000000u - Range<T>::kMostWord + Range<T>::kLeastWord);
  return !(fabsf(__int_as_float(from_most)) < __int_as_float(kFirst));
}
/// Whether the word of a (negative words are above all others) is in the range, told from (word - kLeastWord).
template <class T>
__device__ __forceinline__ bool ordinary_positive(unsigned int above) {
  return above < static_cast<unsigned int>(Range<T>::kMostWord - Range<T>::kLeastWord);
}
__device__ __forceinline__ bool alike(int a, int b, int least) {
  return (min(a, b) >= least) | (min(static_cast<unsigned int>(a), static_cast<unsigned int>(b)) >=
                                 static_cast<unsigned int>(least) + 0x80000000u);
}
}  // namespace words
#endif

/// 1/a rounded to nearest for kLeast <= |a| < kMost, NaN elsewhere.
WARPLOOM_PORTABLE float reciprocal(float a) {
#ifdef __CUDA_ARCH__
  const bool ordinary = words::ordinary<float>(words::from_most<float>(__float_as_int(a)));
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
  r = __fmaf_rn(r, __fmaf_rn(-a, r, 1.0f), r);
  return ordinary ? r : __int_as_float(0x7fc00000);
#else
  const bool ordinary = (fabsf(a) >= Range<float>::kLeast) & (fabsf(a) < Range<float>::kMost);
  return ordinary ? 1.0f / a : __builtin_nanf("");
#endif
}
WARPLOOM_PORTABLE double reciprocal(double a) {
#ifdef __CUDA_ARCH__
  const int low = words::from_most<double>(__double2hiint(a));
  double r;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(a));
  r = __hiloint2double(words::or_nan(words::ordinary<double>(low), __double2hiint(r)), low);  // any low word will do
  double e = __fma_rn(-a, r, 1.0);
  e = __fma_rn(e, e, e);
  r = __fma_rn(r, e, r);
  return __fma_rn(r, __fma_rn(-a, r, 1.0), r);
#else
  const bool ordinary = (fabs(a) >= Range<double>::kLeast) & (fabs(a) < Range<double>::kMost);
  return ordinary ? 1.0 / a : __builtin_nan("");
#endif
}

/// Square root of a rounded to nearest for kLeast <= a < kMost, NaN elsewhere, also for zero.
WARPLOOM_PORTABLE float square_root(float a) {
#ifdef __CUDA_ARCH__
  const bool ordinary = words::ordinary_positive<float>(__float_as_uint(a) - Range<float>::kLeastWord);
  float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
  const float root = __fmul_rn(a, r);
  r = __fmaf_rn(__fmaf_rn(-root, root, a), __fmul_rn(r, 0.5f), root);
  return ordinary ? r : __int_as_float(0x7fc00000);
#else
  const bool ordinary = (a >= Range<float>::kLeast) & (a < Range<float>::kMost);
  return ordinary ? __builtin_sqrtf(a) : __builtin_nanf("");
#endif
}
WARPLOOM_PORTABLE double square_root(double a) {
#ifdef __CUDA_ARCH__
  const int above = __double2hiint(a) - Range<double>::kLeastWord;
  const bool ordinary = words::ordinary_positive<double>(static_cast<unsigned int>(above));
  double r;  // 1/sqrt(a), by a step of third order from the estimate
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(a));
  r = __hiloint2double(words::or_nan(ordinary, __double2hiint(r)), above);  // any low word will do
  const double e = __fma_rn(a, -__dmul_rn(r, r), 1.0);
  r = __fma_rn(__fma_rn(e, 0.375, 0.5), __dmul_rn(r, e), r);
  const double root = __dmul_rn(a, r), half = __hiloint2double(__double2hiint(r) - 0x00100000, __double2loint(r));
  return __fma_rn(__fma_rn(root, -root, a), half, root);
#else
  const bool ordinary = (a >= Range<double>::kLeast) & (a < Range<double>::kMost);
  return ordinary ? __builtin_sqrt(a) : __builtin_nan("");
#endif
}

/// 2a for kLeast <= |a| < kMost; for other a anything of which reciprocal() is NaN.
template <class T>
WARPLOOM_PORTABLE T twice(const T& a) { return a + a; }
WARPLOOM_PORTABLE double twice(double a) {
#ifdef __CUDA_ARCH__
  return __hiloint2double(__double2hiint(a) + 0x00100000, __double2loint(a));
#else
  return a + a;
#endif
}

/// Whether a and b have one sign and magnitudes of `least` or more; `least` is a power of two. NaN may count as large.
template <class T>
WARPLOOM_PORTABLE auto alike(const T& a, const T& b, const T& least) {
  return ((a >= least) & (b >= least)) | ((-a >= least) & (-b >= least));
}
WARPLOOM_PORTABLE bool alike(float a, float b, float least) {
#ifdef __CUDA_ARCH__
  return words::alike(__float_as_int(a), __float_as_int(b), __float_as_int(least));
#else
  return alike<float>(a, b, least);
#endif
}
WARPLOOM_PORTABLE bool alike(double a, double b, double least) {
#ifdef __CUDA_ARCH__
  return words::alike(__double2hiint(a), __double2hiint(b), __double2hiint(least));
#else
  return alike<double>(a, b, least);
#endif
}

}  // namespace warploom::portable
