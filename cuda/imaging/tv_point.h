// Iterations of primal-dual and the energy, point by point, with the same bits on every backend.
//
// The dual variable q has one component per axis and |q| <= 1; div is the negative transpose of the forward
// differences. One iteration with the steps tau, theta and sigma, s = sigma / w (Chambolle and Pock 2011, with the
// primal step first):
//   u+ = prox(u + tau w div q),   bar = u+ + theta (u+ - u),   q+ = (q + s grad bar) / max(1, |q + s grad bar|)
#pragma once
#include <cstdint>

#include "cuda/core/portable.h"

namespace warploom::imaging {

/// Coefficients of an iteration.
template <class T>
struct TvStep {
  T keep, pull, data;  ///< gaussian: u+ = keep u + pull (div q / x) + data f; x: that of TvWeights
  T rise;              ///< tau w x
  T tau, theta, s;
};

/// Factors of a grid whose points are not equally far apart along its axes: x, y and z multiply forward differences, and
/// `yx` and `zx` are y / x and z / x. All are 1 where the distances are equal, and then change no bit.
template <class T>
struct TvWeights {
  T x, y, z, yx, zx;
};

/// div q / x from differences along x, y and z; pass zero for a missing axis. The steps contain the factor x.
template <class T>
WARPLOOM_PORTABLE T divergence(const T& x, const T& y, const T& z, const T& yx, const T& zx) {
  using portable::fma;
  return fma(zx, z, fma(yx, y, x));
}

/// u+. Pixels where f is NaN have no data term.
template <bool kImpulse, class T>
WARPLOOM_PORTABLE T primal_step(const TvStep<T>& step, const T& u, const T& f, const T& divergence) {
  using portable::fma;
  using portable::select;
  const T free = fma(step.rise, divergence, u);
  if constexpr (kImpulse) {
    const T away = free - f;
    return select(f >= f, select(away > step.tau, free - step.tau, select(away < -step.tau, free + step.tau, f)), free);
  } else {
    return select(f >= f, fma(step.keep, u, fma(step.pull, divergence, step.data * f)), free);
  }
}
template <class T>
WARPLOOM_PORTABLE T extrapolated(const TvStep<T>& step, const T& next, const T& u) {
  using portable::fma;
  return fma(step.theta, next - u, next);
}

/// Adds the squares of one component's vector, starting from zero.
template <class T>
WARPLOOM_PORTABLE T add_square(const T& sum, const T& x, const T& y, const T& z) {
  using portable::fma;
  return fma(z, z, fma(y, y, fma(x, x, sum)));
}
/// 1 / max(1, length) from the squared length.
template <class T>
WARPLOOM_PORTABLE T shrinking(const T& square) {
  using portable::inverse_root;
  using portable::select;
  return inverse_root(select(square > T(1), square, T(1)));
}
/// Roots of sums of squares; lengths below 2^-50 (float32) count as zero.
template <class T, class R>
WARPLOOM_PORTABLE T length_of(const T& square, R) {
  using portable::inverse_root;
  using portable::select;
  const T least(portable::Range<R>::kLeastRoot);
  return square * inverse_root(select(square > least, square, least));
}

/// The data term of a pixel, and its part of the dual energy: the minimum over v of D(v - f) - v e with e = w div q.
/// Where there is no data, and beyond |e| = 1 with impulse noise, v is kept between bounds that the minimiser never
/// leaves. The type D: a double, or a vector of them.
template <class D>
struct TvBounds {
  D least, most;
};
template <bool kImpulse, class D>
WARPLOOM_PORTABLE D data_energy(const D& u, const D& f) {
  using portable::absolute;
  using portable::select;
  const D away = u - f;
  return select(f >= f, kImpulse ? absolute(away) : D(0.5) * (away * away), D(0));
}
template <bool kImpulse, class D>
WARPLOOM_PORTABLE D dual_energy(const TvBounds<D>& bounds, const D& f, const D& e) {
  using portable::select;
  const D low = bounds.least * e, high = bounds.most * e;
  const D unbound = -select(low > high, low, high);
  if constexpr (kImpulse) {
    const D beyond = select(e > D(0), bounds.most - f, f - bounds.least) + unbound;
    const D inside = -(f * e);
    return select(f >= f, select((e > D(1)) | (-e > D(1)), beyond, inside), unbound);
  } else {
    return select(f >= f, -(e * (f + D(0.5) * e)), unbound);
  }
}

}  // namespace warploom::imaging
