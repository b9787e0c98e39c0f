// A step towards the signed distance function with the same contour as a level set phi0, with the same bits on every
// backend.
//
// Upwind differences after Godunov. Points next to the contour move towards phi0 / |grad phi0| (Russo and Smereka
// 2000), so that the contour stays in place. Steps of 1/2 preserve the sign of every point, and hence the sums over the
// regions.
#pragma once
#include "cuda/core/portable.h"
#include "cuda/imaging/axis_point.h"

namespace warploom::imaging::segmentation {

/// The square of the upwind slope along an axis; the differences are multiplied by the point's sign.
template <class T>
WARPLOOM_PORTABLE T upwind_square(const T& before, const T& behind) {
  using portable::select;
  const T zero = T(0), rise = select(before > zero, before, zero), fall = select(behind < zero, behind, zero);
  const T a = rise * rise, b = fall * fall;
  return select(a > b, a, b);
}

/// Differences of phi0 along the axes, which give the target of a point next to the contour.
template <class T>
struct Slopes {
  T central, largest;  ///< 4 |grad phi0|^2, and the largest one-sided difference
  WARPLOOM_PORTABLE void add(const T& before, const T& behind) {
    using portable::absolute;
    using portable::fma;
    using portable::select;
    const T both = before + behind, a = absolute(before), b = absolute(behind), more = select(a > b, a, b);
    central = fma(both, both, central);
    largest = select(largest > more, largest, more);
  }
  WARPLOOM_PORTABLE T distance(const T& phi0) const {
    using portable::reciprocal;
    using portable::select;
    using portable::square_root;
    const T slope = square_root(central) * T(0.5);
    return phi0 * reciprocal(select(slope > largest, slope, largest));
  }
};

/// One step at a point. fixed(dx, dy, dz) is phi0 and moving(dx, dy, dz) the level set around the point.
template <class T, int kDimensions, class R, class Fixed, class Moving>
WARPLOOM_PORTABLE T reinitialized(const Fixed& fixed, const Moving& moving, const AxisFactors<R>& axes) {
  using portable::absolute;
  using portable::select;
  using portable::square_root;
  const T zero = T(0), one = T(1), half = T(0.5), least = T(0x1p-90);
  const T phi0 = fixed(0, 0, 0), psi = moving(0, 0, 0);
  const auto inside = phi0 > zero;
  const T sign = select(inside, one, -one);
  Slopes<T> slopes = {least, least};
  T upwind = least, crossing = zero;
#ifdef __CUDACC__
#pragma unroll
#endif
  for (int axis = 0; axis < kDimensions; ++axis) {
    const int x = axis == 0, y = axis == 1, z = axis == 2;
    const T before = fixed(-x, -y, -z), behind = fixed(x, y, z);
    const T factor(axes.length[axis]);
    slopes.add(factor * (phi0 - before), factor * (behind - phi0));
    crossing = crossing + absolute(sign - select(before > zero, one, -one)) + absolute(sign - select(behind > zero, one, -one));
    upwind = upwind + upwind_square(sign * (factor * (psi - moving(-x, -y, -z))), sign * (factor * (moving(x, y, z) - psi)));
  }
  const T towards = sign * (square_root(upwind) - one);
  const T away = sign * absolute(psi) - slopes.distance(phi0);
  return psi - half * select(crossing > zero, away, towards);
}

}  // namespace warploom::imaging::segmentation
