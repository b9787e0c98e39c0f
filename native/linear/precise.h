// One lane's sums and unknowns in about twice the precision of the call: double for float, pairs of doubles for double.
// Include once per instruction set, after the standard headers.
#pragma once
#include "native/linear/tile_io.h"

namespace warploom::cpu::WARPLOOM_ISA {

/// high + low, unevaluated.
template <class R>
struct PreciseReal {
  double high, low;
  explicit PreciseReal(double h, double l = 0) : high(h), low(l) {}
};
template <> struct PreciseReal<float> {
  double high;
  explicit PreciseReal(double h) : high(h) {}
};
template <class R>
WARPLOOM_INLINE PreciseReal<R> add(const PreciseReal<R>& a, double b) {
  if constexpr (sizeof(R) == 4) {
    return PreciseReal<R>(a.high + b);
  } else {
    const double high = a.high + b, back = high - a.high;
    const double low = a.low + ((a.high - (high - back)) + (b - back)), sum = high + low;
    return PreciseReal<R>(sum, low - (sum - high));
  }
}

/// A number of type T (R or Complex<R>), stored that way.
template <class T> struct Precise {
  using R = T;
  PreciseReal<R> re;
  explicit Precise(const T& value) : re(value) {}
  void add_scaled(double scale, const T& value) { re = add(re, scale * value); }
  T rounded() const { return static_cast<R>(re.high); }
};
template <class Real> struct Precise<Complex<Real>> {
  using R = Real;
  PreciseReal<R> re, im;
  explicit Precise(const Complex<R>& value) : re(value.re), im(value.im) {}
  void add_scaled(double scale, const Complex<R>& value) {
    re = add(re, scale * value.re);
    im = add(im, scale * value.im);
  }
  Complex<R> rounded() const { return {static_cast<R>(re.high), static_cast<R>(im.high)}; }
};

/// sum - a1 x1 - a2 x2 …: products of floats are exact in double. For doubles, the rounding errors of products and sums
/// are kept (Ogita, Rump, Oishi 2005).
template <class R>
struct PreciseSum {
  double sum = 0, lost = 0;
  WARPLOOM_INLINE void subtract(double a, const PreciseReal<R>& x) {
    if constexpr (sizeof(R) == 4) {
      sum -= a * x.high;
    } else {
      const double product = a * x.high, rest = sum - product, back = rest - sum;
      lost += (sum - (rest - back)) - (product + back) - __builtin_fma(a, x.high, -product) - a * x.low;
      sum = rest;
    }
  }
  double value() const { return sum + lost; }
};

/// Lanes of a solution, row after row.
template <class S>
class PreciseLanes {
 public:
  explicit PreciseLanes(void* memory) : data_(static_cast<Precise<One<S>>*>(memory)) {}
  Precise<One<S>>& at(int64_t row, int lane) const { return data_[row * kLanes<S> + lane]; }

 private:
  Precise<One<S>>* data_;
};

/// b - A x of one row of one lane, in units of `up`, and |A||x| + |b| in the same units.
struct PreciseRow {
  double re = 0, im = 0, scale = 0, up = 0;
};

}  // namespace warploom::cpu::WARPLOOM_ISA
