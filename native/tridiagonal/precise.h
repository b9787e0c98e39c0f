// One lane's residuals in about twice the precision of the call.
// Include once per instruction set, after the standard headers.
#pragma once
#include "native/linear/precise.h"
#include "native/tridiagonal/residual.h"

namespace warploom::cpu::WARPLOOM_ISA {

/// Adds up one row. Entries are visited twice: for the row's power of two, then for the sums.
template <class S>
PreciseRow precise_row(const System<S>& s, const PreciseLanes<S>& x, int lane, int64_t i) {
  using R = RealType<S>;
  using T = One<S>;
  const int64_t m = s.rows[lane];
  T entries[4];
  int64_t at[4];
  int count = 0;
  const auto take = [&](const S& band, int64_t row) {
    entries[count] = get_lane(band, lane);
    at[count++] = row;
  };
  take(s.diagonal[i], i);
  if (i > 0) take(s.lower[i], i - 1);
  if (i + 1 < m) take(s.upper[i], i + 1);
  if (s.periodic && i == 0) take(s.top, m - 1);
  if (s.periodic && i > 0 && i == m - 1) take(s.bottom, 0);
  double size = 0;
  for (int k = 0; k < count; ++k) size = larger(size, static_cast<double>(absolute(entries[k])));
  const Powers<double> powers = powers_of(size);
  constexpr double kLeast = static_cast<double>(RealLimits<R>::kSafe);
  const T rhs = get_lane(s.rhs[i], lane);
  PreciseSum<R> re, im;
  PreciseRow row;
  row.up = powers.up;
  if constexpr (kParts<S> == 2) {
    re.sum = rhs.re * powers.down;
    im.sum = rhs.im * powers.down;
    row.scale = modulus(Complex<double>{re.sum, im.sum});
    for (int k = 0; k < count; ++k) {
      const Complex<double> a{entries[k].re * powers.down, entries[k].im * powers.down};
      const Precise<T>& unknown = x.at(at[k], lane);
      re.subtract(a.re, unknown.re);
      re.subtract(-a.im, unknown.im);
      im.subtract(a.re, unknown.im);
      im.subtract(a.im, unknown.re);
      row.scale += modulus(a) * larger(modulus(Complex<double>{unknown.re.high, unknown.im.high}), kLeast);
    }
    row.im = im.value();
  } else {
    re.sum = rhs * powers.down;
    row.scale = absolute(re.sum);
    for (int k = 0; k < count; ++k) {
      const double a = entries[k] * powers.down;
      const Precise<T>& unknown = x.at(at[k], lane);
      re.subtract(a, unknown.re);
      row.scale += absolute(a) * larger(absolute(unknown.re.high), kLeast);
    }
  }
  row.re = re.value();
  return row;
}

/// The componentwise backward error of one lane. If `residual` is not null, it receives b - A x times `scale`.
template <class S>
double precise_residual(const System<S>& s, const PreciseLanes<S>& x, int lane, double scale, S* residual) {
  using R = RealType<S>;
  double worst = 0;
  for (int64_t i = 0; i < s.rows[lane]; ++i) {
    const PreciseRow row = precise_row(s, x, lane, i);
    worst = larger(worst, row_error<double>(modulus(Complex<double>{row.re, row.im}), row.scale));
    if (residual == nullptr) continue;
    const double factor = row.up * scale;
    if constexpr (kParts<S> == 2) {
      set_lane(residual[i], lane, One<S>{static_cast<R>(row.re * factor), static_cast<R>(row.im * factor)});
    } else {
      set_lane(residual[i], lane, static_cast<R>(row.re * factor));
    }
  }
  return worst;
}

}  // namespace warploom::cpu::WARPLOOM_ISA
