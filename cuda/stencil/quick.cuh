// Divisions and square roots without branches, for numbers of ordinary size: with the bits of the instructions, which branch for all
// others. Between branches compilers find little to do at once, and each multiprocessor has to wait for one result after the other. The
// printed functions of stages (lib/stencil/compile/line-cells.ts) call these; where one says that it was not right, all is made again in
// the usual way (line.cuh).
#pragma once
#include "cuda/core/device.cuh"

#ifndef WARPLOOM_SIMT
/// The compiler's own name of rcp.approx.ftz.f64: as assembler text, it would not be seen to give the same twice.
extern "C" __device__ double __nvvm_rcp_approx_ftz_d(double);
#endif

namespace warploom::WARPLOOM_TARGET::stencil {

struct QuickArithmetic {
  /// Whether a number has been too large, too small or none.
  WARPLOOM_DEVICE bool odd() const { return most_ >= kSpan; }

  WARPLOOM_DEVICE double wl_quick_reciprocal(double b) {
    look(high_word(b) & 0x7fffffff);
    return reciprocal(b);
  }
  WARPLOOM_DEVICE double wl_quick_quotient(double a, double b) {
    const bool zero = is_zero(a);
    look(high_word(b) & 0x7fffffff);
    look(zero ? kLeast : high_word(a) & 0x7fffffff);
#ifdef __CUDA_ARCH__
    const double r = reciprocal(b), q = __dmul_rn(a, r), quotient = __fma_rn(r, __fma_rn(-b, q, a), q);
    return zero ? q : quotient;  // computed before: compilers make branches of calls in conditional expressions
#else
    return right(a / b);
#endif
  }
  WARPLOOM_DEVICE double wl_quick_root(double a) {
    const bool zero = is_zero(a);
    look(zero ? kLeast : high_word(a));
#ifdef __CUDA_ARCH__
    // 1/sqrt(a), with a third-order step
    double r = wide(rsqrtf(narrow(a)));
    const double e = __fma_rn(a, -__dmul_rn(r, r), 1.0);
    r = __fma_rn(__fma_rn(e, 0.375, 0.5), __dmul_rn(r, e), r);
    const double near = __dmul_rn(a, r), half = __hiloint2double(__double2hiint(r) - 0x00100000, __double2loint(r));
    const double root = __fma_rn(__fma_rn(near, -near, a), half, near);
    return zero ? a : root;
#else
    return zero ? a : right(__builtin_sqrt(a));
#endif
  }

 private:
  /// High words from 2^-100 to 2^100, so that estimates are in the range of float, and quotients in that of double.
  static constexpr int kLeast = (1023 - 100) << 20;
  static constexpr unsigned int kSpan = 200u << 20;
  unsigned int most_ = 0;  ///< of the words, counted from there

  WARPLOOM_DEVICE void look(int word) {
    const unsigned int from_least = static_cast<unsigned int>(word) - static_cast<unsigned int>(kLeast);
    most_ = from_least > most_ ? from_least : most_;
  }
#ifdef __CUDA_ARCH__
  static WARPLOOM_DEVICE int high_word(double x) { return __double2hiint(x); }
  static WARPLOOM_DEVICE bool is_zero(double x) { return ((__double2hiint(x) & 0x7fffffff) | __double2loint(x)) == 0; }
  /// Cuts the last 29 bits off a number of ordinary size without its sign, and puts zeros there; conversions would take longer.
  static constexpr int kBias = (1023 - 127) << 20;
  static WARPLOOM_DEVICE float narrow(double x) {
    return __int_as_float(__funnelshift_l(__double2loint(x), (__double2hiint(x) & 0x7fffffff) - kBias, 3));
  }
  static WARPLOOM_DEVICE double wide(float x) {
    const unsigned int bits = __float_as_uint(x);
    return __hiloint2double(static_cast<int>(bits >> 3) + kBias, static_cast<int>(bits << 29));
  }
  static WARPLOOM_DEVICE double reciprocal(double b) {
    const int high = __double2hiint(__nvvm_rcp_approx_ftz_d(b));
    double r = __hiloint2double(high, 0x40000000);
    double e = __fma_rn(-b, r, 1.0);
    e = __fma_rn(e, e, e);
    r = __fma_rn(r, e, r);
    return __fma_rn(r, __fma_rn(-b, r, 1.0), r);
  }
#else
  static int high_word(double x) {
    int64_t bits;
    memcpy(&bits, &x, sizeof x);
    return static_cast<int>(bits >> 32);
  }
  static bool is_zero(double x) { return x == 0; }
  double reciprocal(double b) const { return right(1 / b); }
  /// Nothing that tests could take for right if a number was odd.
  double right(double x) const { return odd() ? __builtin_nan("") : x; }
#endif
};

/// Whether something is so in any thread of the block; all must call this. `own`: in shared memory, a number of this warp, so many numbers
/// behind the one of the warp before. It may be used again afterwards.
template <int kWarps, int kStride, class T>
WARPLOOM_DEVICE bool any_in_block(const device::Block& block, T* own, bool here) {
  const bool in_warp = device::ballot(block, here) != 0;
  if (kWarps == 1) return in_warp;
  if (block.lane() == 0) *own = in_warp ? T(1) : T(0);
  block.sync();
  const T* const first = own - block.warp() * kStride;
  bool found = false;
  WARPLOOM_UNROLL
  for (int warp = 0; warp < kWarps; ++warp) found = found || first[warp * kStride] != T(0);
  block.sync();
  return found;
}

}  // namespace warploom::WARPLOOM_TARGET::stencil
