// Higham's 1-norm estimator and the error bounds of gtcon and gtrfs for one system. Include after tile_factor.h, in the
// namespace of the one-lane kernels.
#pragma once
#include "native/tridiagonal/tile_factor.h"

namespace warploom::cpu::WARPLOOM_ISA {

/// One system, its Hermitian transpose, and solves with either by partial pivoting.
template <class T>
class Inverse {
 public:
  using R = RealType<T>;
  static constexpr int64_t kArrays = 11;

  /// The caller keeps `s`; memory: kArrays * n entries.
  Inverse(const System<T>& s, T* memory) : forward_(s), adjoint_(s) {
    const int64_t n = s.n;
    adjoint_.lower = memory;
    adjoint_.diagonal = memory + n;
    adjoint_.upper = memory + 2 * n;
    result_ = memory + 3 * n;
    work_ = memory + 4 * n;  // 5 n for pivoting; then the estimator's vector and signs
    for (int64_t i = 0; i < n; ++i) {
      adjoint_.lower[i] = i > 0 ? conjugated(s.upper[i - 1]) : constant<T>(0);
      adjoint_.diagonal[i] = conjugated(s.diagonal[i]);
      adjoint_.upper[i] = i + 1 < n ? conjugated(s.lower[i + 1]) : constant<T>(0);
    }
    adjoint_.top = conjugated(s.bottom);
    adjoint_.bottom = conjugated(s.top);
  }
  /// x = A^-1 x, or A^-H x. False when a pivot is zero.
  bool apply(T* x, bool adjoint) {
    const System<T>& s = adjoint ? adjoint_ : forward_;
    Tile<T> t{s.n, s.lower, s.diagonal, s.upper, x, result_, work_, -1};
    if (s.periodic && s.n >= 3) {
      solve_pivoting_periodic(t, s.top, s.bottom);
    } else {
      solve_pivoting(t);
    }
    for (int64_t i = 0; i < s.n; ++i) x[i] = result_[i];
    return t.zero_row < 0;
  }
  T* vector() const { return work_ + 5 * forward_.n; }
  T* signs() const { return work_ + 6 * forward_.n; }
  int64_t n() const { return forward_.n; }

 private:
  System<T> forward_, adjoint_;
  T *result_, *work_;
};

WARPLOOM_INLINE double wide_modulus(double a) { return absolute(a); }
template <class R>
WARPLOOM_INLINE double wide_modulus(const Complex<R>& a) {
  // Not hypot: its last bit depends on the C library.
  const double re = absolute(static_cast<double>(a.re)), im = absolute(static_cast<double>(a.im));
  const double most = re > im ? re : im, ratio = (re > im ? im : re) / most;
  return most > 0 && most <= 1.7976931348623157e308 ? most * __builtin_sqrt(1 + ratio * ratio) : re + im;
}
template <class T>
T sign_of(const T& a) {
  const double size = wide_modulus(a);
  if constexpr (kParts<T> == 2) {
    using R = RealType<T>;
    return size > 0 ? T{static_cast<R>(a.re / size), static_cast<R>(a.im / size)} : constant<T>(1);
  } else {
    return a < 0 ? T(-1) : T(1);
  }
}

/// Estimate of |B|_1 (Higham 1988, algorithm 4.1; Higham, Tisseur 2000 with one column: LAPACK lacn2). apply(x,
/// adjoint) replaces x by B x or B^H x, and returns false if it cannot. The result is negative if apply failed.
template <class T, class Apply>
double estimate_norm(int64_t n, T* x, T* signs, const Apply& apply) {
  const auto sum = [&] {
    double total = 0;
    for (int64_t i = 0; i < n; ++i) total += wide_modulus(x[i]);
    return total;
  };
  const auto largest = [&] {
    int64_t at = 0;
    for (int64_t i = 1; i < n; ++i) {
      if (wide_modulus(x[i]) > wide_modulus(x[at])) at = i;
    }
    return at;
  };
  const auto take_signs = [&] {  // true when any changed
    bool changed = false;
    for (int64_t i = 0; i < n; ++i) {
      const T sign = sign_of(x[i]);
      changed = changed || kParts<T> == 2 || wide_modulus(sign - signs[i]) != 0;
      x[i] = signs[i] = sign;
    }
    return changed;
  };
  using R = RealType<T>;
  for (int64_t i = 0; i < n; ++i) {
    x[i] = constant<T>(static_cast<R>(1.0 / static_cast<double>(n)));
    signs[i] = constant<T>(0);
  }
  if (!apply(x, false)) return -1;
  double estimate = sum();
  if (n == 1) return estimate;
  take_signs();
  if (!apply(x, true)) return -1;
  int64_t column = largest();
  for (int step = 0; step < 4; ++step) {
    for (int64_t i = 0; i < n; ++i) x[i] = constant<T>(i == column ? R(1) : R(0));
    if (!apply(x, false)) return -1;
    const double next = sum();
    const bool better = next > estimate;
    if (better) estimate = next;
    if (!take_signs() || !better) break;
    if (!apply(x, true)) return -1;
    const int64_t last = column;
    column = largest();
    if (wide_modulus(x[last]) == wide_modulus(x[column])) break;
  }
  for (int64_t i = 0; i < n; ++i) {
    const double size = 1 + static_cast<double>(i) / static_cast<double>(n - 1);
    x[i] = constant<T>(static_cast<R>(i % 2 == 0 ? size : -size));
  }
  if (!apply(x, false)) return -1;
  const double alternating = 2 * sum() / (3 * static_cast<double>(n));
  return alternating > estimate ? alternating : estimate;
}

/// Largest column sum of a system.
template <class T>
double norm_of(const System<T>& s) {
  double norm = 0;
  for (int64_t j = 0; j < s.n; ++j) {
    double sum = wide_modulus(s.diagonal[j]);
    if (j > 0) sum += wide_modulus(s.upper[j - 1]);
    if (j + 1 < s.n) sum += wide_modulus(s.lower[j + 1]);
    if (j == s.n - 1) sum += wide_modulus(s.top);
    if (j == 0) sum += wide_modulus(s.bottom);
    if (!(sum <= norm)) norm = sum;
  }
  return norm;
}

/// gtcon: 1 / (|A|_1 est|A^-1|_1); 0 for singular and non-finite matrices.
template <class T>
double reciprocal_condition(const System<T>& s, Inverse<T>& inverse) {
  if (s.n == 0) return 1;
  const double norm = norm_of(s);
  const double estimate = estimate_norm<T>(
      s.n, inverse.vector(), inverse.signs(),
      [&](T* x, bool adjoint) { return inverse.apply(x, adjoint); });
  const double product = norm * estimate;
  return estimate >= 0 && product > 0 && is_finite(product) ? 1 / product : 0;
}

/// gtrfs: componentwise backward error of x, and a bound on |x - xtrue|_inf / |x|_inf. `weights`: n entries. The bound
/// is infinite if the matrix is singular or a value is not finite.
template <class T>
void error_bounds(const System<T>& s, const T* x, T* weights, Inverse<T>& inverse, double* backward,
                  double* forward) {
  using R = RealType<T>;
  using Limits = RealLimits<R>;
  constexpr double kRowEntries = 4;  // in a row, with its right-hand side
  double size = 0;
  *backward = 0;
  for (int64_t i = 0; i < s.n; ++i) {
    const RowMeasure<T> row = measure_row(s, x, i);
    R residual = modulus(row.residual), scale = row.scale, up = row.up;
    const double entries = wide_modulus(s.lower[i]) + wide_modulus(s.diagonal[i]) + wide_modulus(s.upper[i]);
    if (scale == Limits::kInfinity && is_finite(entries) && is_finite(wide_modulus(s.rhs[i]))) {
      // The entries are negligible next to the right-hand side, which overflows in their units.
      residual = scale = modulus(s.rhs[i]);
      up = 1;
    }
    const double error = static_cast<double>(row_error<R>(residual, scale));
    if (!(error <= *backward)) *backward = error;
    const R rounding = static_cast<R>(kRowEntries) * (Limits::kEpsilon / 2) * scale;
    weights[i] = constant<T>((residual + rounding) * up + 4 * Limits::kSafe);
    const double entry = wide_modulus(x[i]);
    if (!(entry <= size)) size = entry;
  }
  const auto weigh = [&](T* v) {
    for (int64_t i = 0; i < s.n; ++i) v[i] = v[i] * weights[i];
  };
  // | |A^-1| w |_inf = |A^-1 diag(w)|_inf = |diag(w) A^-H|_1.
  const double estimate = estimate_norm<T>(
      s.n, inverse.vector(), inverse.signs(), [&](T* v, bool adjoint) {
        if (adjoint) {
          weigh(v);
          return inverse.apply(v, false);
        }
        const bool good = inverse.apply(v, true);
        weigh(v);
        return good;
      });
  *forward = estimate >= 0 && is_finite(estimate) && is_finite(size)
                 ? (size > 0 ? estimate / size : estimate)
                 : Limits::kInfinity;
}

}  // namespace warploom::cpu::WARPLOOM_ISA
