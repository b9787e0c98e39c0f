// Componentwise backward error of a tile, and residuals for refinement. Once per instruction set.
#pragma once
#include "native/tridiagonal/algorithms.h"
#include "native/tridiagonal/tile_io.h"

namespace warploom::cpu::WARPLOOM_ISA {

/// Bands and right-hand side of a tile as arrays of n rows, with the periodic corners apart (zero
/// where there are none). rows[l] is the length of lane l.
template <class S>
struct System {
  int64_t n = 0;
  S *lower = nullptr, *diagonal = nullptr, *upper = nullptr, *rhs = nullptr;
  S top, bottom;  ///< row 0 to x[n-1], row n-1 to x[0]
  bool periodic = false;
  int64_t rows[kLanes<S>] = {};
};

template <class R> struct RealLimits;
template <> struct RealLimits<float> {
  static constexpr float kEpsilon = 1.1920929e-7f, kSafe = 1.17549435e-38f, kInfinity = __builtin_inff();
};
template <> struct RealLimits<double> {
  static constexpr double kEpsilon = 2.220446049250313e-16, kSafe = 2.2250738585072014e-308,
                          kInfinity = __builtin_inf();
};

/// |r| / d for one row; 0/0 is zero, anything not finite is infinite. Sums so small that rounding
/// is absolute (subnormal products) are judged against the smallest normal number, as gtrfs does.
template <class V>
WARPLOOM_INLINE V row_error(const V& residual, const V& scale) {
  using Limits = RealLimits<typename LanesOf<V>::Real>;
  const V tiny = broadcast<V>(3 * Limits::kSafe);
  const V divisor = select(scale < broadcast<V>(3 * Limits::kSafe / Limits::kEpsilon), scale + tiny, scale);
  const V ratio = residual / divisor;
  const V infinity = broadcast<V>(Limits::kInfinity);
  return select(ratio <= infinity, ratio, infinity);
}

/// Residual of rows whose neighbours are both inside the system, or absent.
template <class S>
WARPLOOM_INLINE S row_residual(const System<S>& s, const S* x, int64_t i, LanesType<S>* scale) {
  S product = s.diagonal[i] * x[i];
  LanesType<S> sum = absolute(s.diagonal[i]) * absolute(x[i]) + absolute(s.rhs[i]);
  S residual = s.rhs[i] - product;
  if (i > 0) {
    residual = residual - s.lower[i] * x[i - 1];
    sum = sum + absolute(s.lower[i]) * absolute(x[i - 1]);
  }
  if (i + 1 < s.n) {
    residual = residual - s.upper[i] * x[i + 1];
    sum = sum + absolute(s.upper[i]) * absolute(x[i + 1]);
  }
  *scale = sum;
  return residual;
}

/// Adds the corner couplings of one lane to the residual and scale of its first and last row.
template <class S>
void add_corner(const System<S>& s, const S* x, int lane, bool first_row, One<S>* residual,
                RealType<S>* scale) {
  const int64_t last = s.rows[lane] - 1;
  const One<S> corner = get_lane(first_row ? s.top : s.bottom, lane);
  const One<S> other = get_lane(x[first_row ? last : 0], lane);
  *residual = *residual - corner * other;
  *scale = *scale + absolute(corner) * absolute(other);
}

/// Componentwise backward error max_i |b - A x|_i / (|A||x| + |b|)_i of every lane (Oettli, Prager
/// 1964). Where `residual` is not null, it receives b - A x.
template <class S>
LanesType<S> backward_error(const System<S>& s, const S* x, S* residual) {
  using V = LanesType<S>;
  V worst = broadcast<V>(0);
  const auto note = [&worst](const V& error) { worst = select(worst < error, error, worst); };
  for (int64_t i = 0; i < s.n; ++i) {
    V scale;
    S r = row_residual(s, x, i, &scale);
    if (s.periodic) {
      for (int l = 0; l < kLanes<S>; ++l) {
        if (i != 0 && i != s.rows[l] - 1) continue;
        One<S> lane_residual = get_lane(r, l);
        RealType<S> lane_scale = get_lane<V>(scale, l);
        if (i == 0) add_corner(s, x, l, true, &lane_residual, &lane_scale);
        if (i == s.rows[l] - 1) add_corner(s, x, l, false, &lane_residual, &lane_scale);
        set_lane(r, l, lane_residual);
        set_lane<V>(scale, l, lane_scale);
      }
    }
    note(row_error<V>(absolute(r), scale));
    if (residual != nullptr) residual[i] = r;
  }
  return worst;
}

}  // namespace warploom::cpu::WARPLOOM_ISA
