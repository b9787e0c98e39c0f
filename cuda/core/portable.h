// Arithmetic with one meaning on every backend: the same bits from nvcc's device code, the SIMT shim and the CPU
// backend.
// Point functions of solvers are written with these names in plain C++, as templates over the number type, and compiled
// by all three. The CPU backend instantiates them with vectors (native/swept/), for which it overloads the same names.
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

/// Magnitudes that reciprocal() and square_root() support, so that a single branch-free sequence is enough.
template <class T> struct Range;
template <> struct Range<float> {
  static constexpr float kLeast = 0x1p-126f, kMost = 0x1p125f;
  static constexpr float kLeastRoot = 0x1p-100f;  ///< from here on the remainder of a rounded root is exact
  static constexpr int kLeastWord = 0x00800000, kMostWord = 0x7e000000;  ///< kLeast and kMost as (high) words of the number
};
template <> struct Range<double> {
  static constexpr double kLeast = 0x1p-1022, kMost = 0x1p1021;
  static constexpr double kLeastRoot = 0x1p-960;
  static constexpr int kLeastWord = 0x00100000, kMostWord = 0x7fc00000;
};

#ifdef __CUDA_ARCH__
/// Arithmetic on the words of numbers.
namespace words {
/// Whether |a| is in the range, from its (high) word plus kShift. Ignoring the sign bit, words from kMostWord on wrap
/// around to zero and above, so one comparison rejects both ends. It compares floats, because their magnitude costs
/// nothing; NaN patterns count as in the range.
template <class T> inline constexpr unsigned int kShift = 0x80000000u - Range<T>::kMostWord;
template <class T>
__device__ __forceinline__ bool ordinary(int shifted) {
  return !(fabsf(__int_as_float(shifted)) < __int_as_float(static_cast<int>(kShift<T> + Range<T>::kLeastWord)));
}
/// The same for the word of a itself; unsigned, the words of negative numbers are above all others.
template <class T>
__device__ __forceinline__ bool ordinary_positive(int word) {
  return static_cast<unsigned int>(word - Range<T>::kLeastWord) < static_cast<unsigned int>(Range<T>::kMostWord - Range<T>::kLeastWord);
}
__device__ __forceinline__ bool alike(int a, int b, int least) {
  return (min(a, b) >= least) | (min(static_cast<unsigned int>(a), static_cast<unsigned int>(b)) >=
                                 static_cast<unsigned int>(least) + 0x80000000u);
}
/// High words of rough estimates. Where 1/a is next to a tie (mantissas of all ones), the low word decides the sign of
/// the error; kLowWord puts the estimates well above.
inline constexpr int kLowWord = 0x40000000;
__device__ __forceinline__ int reciprocal_estimate(double a) {
  int high;
  asm("{.reg .b32 low; .reg .f64 r; rcp.approx.ftz.f64 r, %1; mov.b64 {low, %0}, r;}" : "=r"(high) : "d"(a));
  return high;
}
__device__ __forceinline__ int inverse_root_estimate(double a) {
  int high;
  asm("{.reg .b32 low; .reg .f64 r; rsqrt.approx.ftz.f64 r, %1; mov.b64 {low, %0}, r;}" : "=r"(high) : "d"(a));
  return high;
}
/// 1/a rounded to nearest from the estimate r.
__device__ __forceinline__ double reciprocal_from(double a, double r) {
  double e = __fma_rn(-a, r, 1.0);
  e = __fma_rn(e, e, e);
  r = __fma_rn(r, e, r);
  return __fma_rn(r, __fma_rn(-a, r, 1.0), r);
}
}  // namespace words
#endif

/// 1/a rounded to nearest for kLeast <= |a| < kMost; NaN for smaller a, infinities and NaN; unspecified for other a.
WARPLOOM_PORTABLE float small_reciprocal(float a) {
#ifdef __CUDA_ARCH__
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
  return __fmaf_rn(r, __fmaf_rn(-a, r, 1.0f), r);
#else
  const bool ordinary = (fabsf(a) >= Range<float>::kLeast) & (fabsf(a) < Range<float>::kMost);
  return ordinary ? 1.0f / a : __builtin_nanf("");
#endif
}
WARPLOOM_PORTABLE double small_reciprocal(double a) {
#ifdef __CUDA_ARCH__
  return words::reciprocal_from(a, __hiloint2double(words::reciprocal_estimate(a), words::kLowWord));
#else
  const bool ordinary = (fabs(a) >= Range<double>::kLeast) & (fabs(a) < Range<double>::kMost);
  return ordinary ? 1.0 / a : __builtin_nan("");
#endif
}

/// 1/a rounded to nearest for kLeast <= |a| < kMost; NaN elsewhere.
WARPLOOM_PORTABLE float reciprocal(float a) {
#ifdef __CUDA_ARCH__
  const bool ordinary = words::ordinary<float>(__float_as_int(a) + static_cast<int>(words::kShift<float>));
  return ordinary ? small_reciprocal(a) : __int_as_float(0x7fc00000);
#else
  return small_reciprocal(a);
#endif
}
WARPLOOM_PORTABLE double reciprocal(double a) {
#ifdef __CUDA_ARCH__
  const bool ordinary = words::ordinary<double>(__double2hiint(a) + static_cast<int>(words::kShift<double>));
  return words::reciprocal_from(a, __hiloint2double(ordinary ? words::reciprocal_estimate(a) : 0x7ff80000, words::kLowWord));
#else
  return small_reciprocal(a);
#endif
}
/// 1/a rounded to nearest for kLeast <= a < kMost; NaN elsewhere.
WARPLOOM_PORTABLE float positive_reciprocal(float a) {
#ifdef __CUDA_ARCH__
  return words::ordinary_positive<float>(__float_as_int(a)) ? small_reciprocal(a) : __int_as_float(0x7fc00000);
#else
  return a > 0 ? small_reciprocal(a) : __builtin_nanf("");
#endif
}
WARPLOOM_PORTABLE double positive_reciprocal(double a) {
#ifdef __CUDA_ARCH__
  const bool ordinary = words::ordinary_positive<double>(__double2hiint(a));
  return words::reciprocal_from(a, __hiloint2double(ordinary ? words::reciprocal_estimate(a) : 0x7ff80000, words::kLowWord));
#else
  return a > 0 ? small_reciprocal(a) : __builtin_nan("");
#endif
}
/// For the CPU's vectors, which only have reciprocal().
template <class T>
WARPLOOM_PORTABLE T small_reciprocal(const T& a) { return reciprocal(a); }
template <class T>
WARPLOOM_PORTABLE T positive_reciprocal(const T& a) { return select(a > T(0), reciprocal(a), T(__builtin_nan(""))); }

/// Square root of a, rounded to nearest for kLeastRoot <= a < kMost, and correct to one unit in the last place for
/// kLeast <= a < kLeastRoot. Not finite for smaller and negative a, zero, infinities and NaN; unspecified for larger a.
WARPLOOM_PORTABLE float square_root(float a) {
#ifdef __CUDA_ARCH__
  float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
  const float root = __fmul_rn(a, r);
  return __fmaf_rn(__fmaf_rn(-root, root, a), __fmul_rn(r, 0.5f), root);
#else
  const bool ordinary = (a >= Range<float>::kLeast) & (a < Range<float>::kMost);
  return ordinary ? __builtin_sqrtf(a) : __builtin_nanf("");
#endif
}
WARPLOOM_PORTABLE double square_root(double a) {
#ifdef __CUDA_ARCH__
  // 1/sqrt(a), with a third-order step
  double r = __hiloint2double(words::inverse_root_estimate(a), words::kLowWord);
  const double e = __fma_rn(a, -__dmul_rn(r, r), 1.0);
  r = __fma_rn(__fma_rn(e, 0.375, 0.5), __dmul_rn(r, e), r);
  const double root = __dmul_rn(a, r), half = __hiloint2double(__double2hiint(r) - 0x00100000, __double2loint(r));
  return __fma_rn(__fma_rn(root, -root, a), half, root);
#else
  const bool ordinary = (a >= Range<double>::kLeast) & (a < Range<double>::kMost);
  return ordinary ? __builtin_sqrt(a) : __builtin_nan("");
#endif
}

/// The rounded reciprocal of the rounded square root of a, for kLeastRoot <= a < kMost; infinite or NaN elsewhere.
WARPLOOM_PORTABLE float inverse_root(float a) { return small_reciprocal(square_root(a)); }
WARPLOOM_PORTABLE double inverse_root(double a) { return small_reciprocal(square_root(a)); }

/// 1/sqrt(a) for kLeastRoot <= a < kMost: NOT the same bits everywhere. For float, GPUs return their estimate, whose
/// relative error is at most 2^-22. Everywhere else, and for float64, this is inverse_root().
WARPLOOM_PORTABLE float quick_inverse_root(float a) {
#ifdef __CUDA_ARCH__
  float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
  return r;
#else
  return inverse_root(a);
#endif
}
WARPLOOM_PORTABLE double quick_inverse_root(double a) { return inverse_root(a); }

/// 2a for kLeast <= |a| < kMost; unspecified for other a. Faster than a + a if a is not needed afterwards.
template <class T>
WARPLOOM_PORTABLE T twice(const T& a) { return a + a; }
WARPLOOM_PORTABLE double twice(double a) {
#ifdef __CUDA_ARCH__
  return __hiloint2double(__double2hiint(a) + 0x00100000, __double2loint(a));
#else
  return a + a;
#endif
}

/// Whether a and b have the same sign and magnitudes of at least `least`, which is a power of two. NaN may count as
/// large.
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
