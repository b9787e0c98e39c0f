// The arithmetic of lib/kernel/ir.ts for printed programs, in C++17 and CUDA C++. Contraction must be off (-ffp-contract=off, -fmad=false).
// Vectors are those of the compiler, or plain structs if WL_STRUCT_LANES is defined; CUDA always needs structs.
#pragma once
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define WL_CUDA 1
#else
#include <cmath>
#include <cstddef>
#endif
#ifndef WARPLOOM_DEVICE
#ifdef WL_CUDA
#define WARPLOOM_DEVICE static __device__ __forceinline__
#else
#define WARPLOOM_DEVICE static inline
#endif
#endif
// Specifiers of mathematical functions, and of their parts that are needed for few arguments.
#ifdef WL_CUDA
#define WL_MATH static __device__
#define WL_RARE static __device__ __noinline__
#else
#define WL_MATH static inline
#define WL_RARE static __attribute__((noinline, cold))
#endif
// In the body of a loop, keeps the compiler from running several iterations at once.
#define WL_SERIAL asm volatile("")
#ifdef WL_CUDA
#define WL_TABLE static __device__ const
#define WL_UNIFORM_TABLE static __constant__ const
#else
#define WL_TABLE static const
#define WL_UNIFORM_TABLE static const
#endif

// Integers wrap.
WARPLOOM_DEVICE int wl_add(int a, int b) { return (int)((unsigned)a + (unsigned)b); }
WARPLOOM_DEVICE int wl_sub(int a, int b) { return (int)((unsigned)a - (unsigned)b); }
WARPLOOM_DEVICE int wl_mul(int a, int b) { return (int)((unsigned)a * (unsigned)b); }
WARPLOOM_DEVICE int wl_div(int a, int b) { return b == -1 ? wl_sub(0, a) : a / b; }
WARPLOOM_DEVICE int wl_rem(int a, int b) { return b == -1 ? 0 : a % b; }
WARPLOOM_DEVICE int wl_shl(int a, int b) { return (int)((unsigned)a << (b & 31)); }
WARPLOOM_DEVICE int wl_shr(int a, int b) { return a >> (b & 31); }
WARPLOOM_DEVICE int wl_shr_u(int a, int b) { return (int)((unsigned)a >> (b & 31)); }
WARPLOOM_DEVICE int wl_neg(int a) { return wl_sub(0, a); }
WARPLOOM_DEVICE int wl_abs(int a) { return a < 0 ? wl_sub(0, a) : a; }
WARPLOOM_DEVICE int wl_min(int a, int b) { return a < b ? a : b; }
WARPLOOM_DEVICE int wl_max(int a, int b) { return a > b ? a : b; }
/// Truncates towards zero; values out of range give the nearest integer, NaN gives 0.
#ifdef __CUDA_ARCH__
// The instruction does so for floats; for doubles it makes another number of NaN. C++ leaves numbers out of range undefined.
WARPLOOM_DEVICE int wl_int(float a) {
  int i;
  asm("cvt.rzi.s32.f32 %0, %1;" : "=r"(i) : "f"(a));
  return i;
}
WARPLOOM_DEVICE int wl_int(double a) {
  int i;
  asm("cvt.rzi.s32.f64 %0, %1;" : "=r"(i) : "d"(a));
  return a != a ? 0 : i;
}
#else
WARPLOOM_DEVICE int wl_int(double a) {
  return a >= 2147483647.0 ? 2147483647 : a <= -2147483648.0 ? (-2147483647 - 1) : a != a ? 0 : (int)a;
}
#endif

// GCC compiles (float)(int)x to a single truncation, which gives -0 instead of 0. XOR with a zero that GCC cannot see prevents that.
// Programs that truncate floats define WL_CUTS, and `wl_nil` must be defined with them.
#ifdef WL_CUTS
extern int wl_nil;
WARPLOOM_DEVICE float wl_f32(int a) { return (float)(a ^ wl_nil); }
WARPLOOM_DEVICE double wl_f64(int a) { return (double)(a ^ wl_nil); }
#else
WARPLOOM_DEVICE float wl_f32(int a) { return (float)a; }
WARPLOOM_DEVICE double wl_f64(int a) { return (double)a; }
#endif

// constexpr, so that tables can hold them.
#ifdef __CUDACC_RTC__
WARPLOOM_DEVICE constexpr float wl_nan_f32() { return __builtin_bit_cast(float, 0x7fc00000); }
WARPLOOM_DEVICE constexpr float wl_inf_f32() { return __builtin_bit_cast(float, 0x7f800000); }
WARPLOOM_DEVICE constexpr double wl_nan_f64() { return __builtin_bit_cast(double, 0x7ff8000000000000ll); }
WARPLOOM_DEVICE constexpr double wl_inf_f64() { return __builtin_bit_cast(double, 0x7ff0000000000000ll); }
#else
WARPLOOM_DEVICE constexpr float wl_nan_f32() { return __builtin_nanf(""); }
WARPLOOM_DEVICE constexpr float wl_inf_f32() { return __builtin_inff(); }
WARPLOOM_DEVICE constexpr double wl_nan_f64() { return __builtin_nan(""); }
WARPLOOM_DEVICE constexpr double wl_inf_f64() { return __builtin_inf(); }
#endif
#ifdef WL_CUDA
WARPLOOM_DEVICE bool wl_is_negative(double a) { return __double_as_longlong(a) < 0; }
#else
WARPLOOM_DEVICE bool wl_is_negative(double a) { return __builtin_signbit(a); }
#endif

/// The words of a double, and the double with two words.
#ifdef WL_CUDA
WARPLOOM_DEVICE int wl_high(double a) { return __double2hiint(a); }
WARPLOOM_DEVICE int wl_low(double a) { return __double2loint(a); }
WARPLOOM_DEVICE double wl_words(int high, int low) { return __hiloint2double(high, low); }
#else
WARPLOOM_DEVICE unsigned long long wl_bits(double a) {
  unsigned long long bits;
  __builtin_memcpy(&bits, &a, 8);
  return bits;
}
WARPLOOM_DEVICE int wl_high(double a) { return (int)(wl_bits(a) >> 32); }
WARPLOOM_DEVICE int wl_low(double a) { return (int)wl_bits(a); }
WARPLOOM_DEVICE double wl_words(int high, int low) {
  const unsigned long long bits = (unsigned long long)(unsigned)high << 32 | (unsigned)low;
  double a;
  __builtin_memcpy(&a, &bits, 8);
  return a;
}
#endif

// NaN if either is NaN; -0 is less than +0.
#define WL_EXTREMES(T)                                                                                         \
  WARPLOOM_DEVICE T wl_min(T a, T b) {                                                                         \
    return a < b ? a : b < a ? b : a == b ? (wl_is_negative(a) ? a : b) : a != a ? a : b;                      \
  }                                                                                                            \
  WARPLOOM_DEVICE T wl_max(T a, T b) {                                                                         \
    return a > b ? a : b > a ? b : a == b ? (wl_is_negative(a) ? b : a) : a != a ? a : b;                      \
  }
WL_EXTREMES(float)
WL_EXTREMES(double)
WARPLOOM_DEVICE float wl_abs(float a) { return fabsf(a); }
WARPLOOM_DEVICE float wl_sqrt(float a) { return sqrtf(a); }
WARPLOOM_DEVICE float wl_floor(float a) { return floorf(a); }
WARPLOOM_DEVICE float wl_ceil(float a) { return ceilf(a); }
WARPLOOM_DEVICE float wl_rint(float a) { return rintf(a); }
WARPLOOM_DEVICE float wl_rem(float a, float b) { return fmodf(a, b); }
WARPLOOM_DEVICE double wl_abs(double a) { return fabs(a); }
WARPLOOM_DEVICE double wl_sqrt(double a) { return sqrt(a); }
WARPLOOM_DEVICE double wl_floor(double a) { return floor(a); }
WARPLOOM_DEVICE double wl_ceil(double a) { return ceil(a); }
WARPLOOM_DEVICE double wl_rint(double a) { return rint(a); }
WARPLOOM_DEVICE double wl_rem(double a, double b) { return fmod(a, b); }

// Rounded once.
WARPLOOM_DEVICE double wl_fma(double a, double b, double c) { return fma(a, b, c); }
WARPLOOM_DEVICE double wl_fmaf(double a, double b, double c) { return fmaf((float)a, (float)b, (float)c); }

// Lanes.
#if defined(WL_CUDA) || defined(WL_STRUCT_LANES)
#ifdef WL_CUDA
#define WL_MEMBER __device__ __forceinline__
#else
#define WL_MEMBER inline
#endif
template <class T, int N>
struct wl_lanes {
  T lane[N];
  WL_MEMBER T& operator[](int i) { return lane[i]; }
  WL_MEMBER T operator[](int i) const { return lane[i]; }
};
using wl_i32x4 = wl_lanes<int, 4>;
using wl_f32x4 = wl_lanes<float, 4>;
using wl_f64x2 = wl_lanes<double, 2>;
#else
typedef int wl_i32x4 __attribute__((vector_size(16)));
typedef float wl_f32x4 __attribute__((vector_size(16)));
typedef double wl_f64x2 __attribute__((vector_size(16)));
#endif

#define WL_EACH(V, N, value)                   \
  {                                            \
    V made = {};                               \
    for (int i = 0; i < N; ++i) made[i] = value; \
    return made;                               \
  }
#define WL_UNARY(name, V, N, value) \
  WARPLOOM_DEVICE V name(V a) WL_EACH(V, N, value)
#define WL_BINARY(name, V, N, value) \
  WARPLOOM_DEVICE V name(V a, V b) WL_EACH(V, N, value)
#define WL_MEMORY(V, T, N)                                                                 \
  WARPLOOM_DEVICE V wl_load_##N(const T* from) WL_EACH(V, N, from[i])                      \
  WARPLOOM_DEVICE void wl_store(T* to, V a) {                                              \
    for (int i = 0; i < N; ++i) to[i] = a[i];                                              \
  }                                                                                        \
  WARPLOOM_DEVICE V wl_splat_##N(T a) WL_EACH(V, N, a)
WL_MEMORY(wl_i32x4, int, 4)
WL_MEMORY(wl_f32x4, float, 4)
WL_MEMORY(wl_f64x2, double, 2)

#define WL_FLOAT_LANES(V, N)               \
  WL_BINARY(wl_add, V, N, a[i] + b[i])     \
  WL_BINARY(wl_sub, V, N, a[i] - b[i])     \
  WL_BINARY(wl_mul, V, N, a[i] * b[i])     \
  WL_BINARY(wl_div, V, N, a[i] / b[i])     \
  WL_UNARY(wl_neg, V, N, -a[i])            \
  WL_UNARY(wl_sqrt, V, N, wl_sqrt(a[i]))   \
  WL_UNARY(wl_floor, V, N, wl_floor(a[i])) \
  WL_UNARY(wl_ceil, V, N, wl_ceil(a[i]))   \
  WL_UNARY(wl_rint, V, N, wl_rint(a[i]))
WL_FLOAT_LANES(wl_f32x4, 4)
WL_FLOAT_LANES(wl_f64x2, 2)

#define WL_LANES(V, N)                           \
  WL_UNARY(wl_abs, V, N, wl_abs(a[i]))           \
  WL_BINARY(wl_min, V, N, wl_min(a[i], b[i]))    \
  WL_BINARY(wl_max, V, N, wl_max(a[i], b[i]))
WL_LANES(wl_i32x4, 4)
WL_LANES(wl_f32x4, 4)
WL_LANES(wl_f64x2, 2)

WL_BINARY(wl_add, wl_i32x4, 4, wl_add(a[i], b[i]))
WL_BINARY(wl_sub, wl_i32x4, 4, wl_sub(a[i], b[i]))
WL_BINARY(wl_mul, wl_i32x4, 4, wl_mul(a[i], b[i]))
WL_BINARY(wl_and, wl_i32x4, 4, a[i] & b[i])
WL_BINARY(wl_or, wl_i32x4, 4, a[i] | b[i])
WL_BINARY(wl_xor, wl_i32x4, 4, a[i] ^ b[i])
WL_UNARY(wl_neg, wl_i32x4, 4, wl_neg(a[i]))
WARPLOOM_DEVICE wl_i32x4 wl_shl(wl_i32x4 a, int b) WL_EACH(wl_i32x4, 4, wl_shl(a[i], b))
WARPLOOM_DEVICE wl_i32x4 wl_shr(wl_i32x4 a, int b) WL_EACH(wl_i32x4, 4, wl_shr(a[i], b))
WARPLOOM_DEVICE wl_i32x4 wl_shr_u(wl_i32x4 a, int b) WL_EACH(wl_i32x4, 4, wl_shr_u(a[i], b))
WARPLOOM_DEVICE wl_f32x4 wl_floats(wl_i32x4 a) WL_EACH(wl_f32x4, 4, wl_f32(a[i]))
WARPLOOM_DEVICE wl_i32x4 wl_ints(wl_f32x4 a) WL_EACH(wl_i32x4, 4, wl_int(a[i]))

/// Copies between arrays that do not overlap.
template <class T>
WARPLOOM_DEVICE void wl_copy(T* to, const T* from, int count) {
  for (int i = 0; i < count; ++i) to[i] = from[i];
}
/// Copies within an array, as if everything were read before anything is written.
template <class T>
WARPLOOM_DEVICE void wl_move(T* to, const T* from, int count) {
#ifdef WL_CUDA
  if (to <= from) {
    for (int i = 0; i < count; ++i) to[i] = from[i];
  } else {
    for (int i = count - 1; i >= 0; --i) to[i] = from[i];
  }
#else
  __builtin_memmove(to, from, (size_t)count * sizeof(T));
#endif
}
template <class T>
WARPLOOM_DEVICE void wl_fill(T* to, int count) {
  for (int i = 0; i < count; ++i) to[i] = 0;
}

/// A trap, recorded by printed functions before they return false.
struct wl_fault {
  int site;
  double value;
};
