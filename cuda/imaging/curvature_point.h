// The curvature at a point from the fluxes through the faces to its neighbours. All variants of a backend give the same
// bits, and so do all backends in float64. In float32 backends differ only in the roots (portable::quick_inverse_root).
//
// The face between the points i and i + e_a has the forward difference d = u(i + e_a) - u(i) and, along each other axis
// b, the mean of four differences, m_b = (c_b(i) + c_b(i + e_a)) / 4 with c_b(i) = u(i + e_b) - u(i - e_b). The flux is
// d / N with N^2 = d^2 + sum of the m_b^2 + eps, summed over the components of the image if they are coupled. The
// curvature is the difference of the fluxes of opposite faces, summed over the axes. Outside the grid the nearest point
// repeats, so no flux leaves it.
//
// Where points are not equally far apart, differences along an axis are divided by their distance there
// (axis_factors.h).
//
// An image (nz = 1) may be treated as a volume of one row (ny = 1); the bits stay the same.
#pragma once
#include <cstdint>

#include "cuda/core/portable.h"
#include "cuda/imaging/axis_point.h"

#ifdef __CUDACC__
#define WARPLOOM_PORTABLE_UNROLL _Pragma("unroll")
#else
#define WARPLOOM_PORTABLE_UNROLL
#endif

namespace warploom::imaging {

/// 16 N^2 of a face for one component. `rest`: the sum of the other components, or 16 eps. p and q: c_b(i) + c_b(i +
/// e_a) for the other axes in the order x, y, z.
template <class T>
WARPLOOM_PORTABLE T face_square(const T& d, const T& p, const T& q, const T& rest) {
  using portable::fma;
  return fma(T(16) * d, d, fma(q, q, fma(p, p, rest)));
}
/// A quarter of the flux.
template <class T>
WARPLOOM_PORTABLE T face_flux(const T& d, const T& square) {
  using portable::quick_inverse_root;
  return d * quick_inverse_root(square);
}
/// A quarter of the curvature, from quarters of the fluxes (above minus below) by axis.
template <class T>
WARPLOOM_PORTABLE T flux_sum(const T& x, const T& y, const T& z) {
  return (x + y) + z;
}

/// A step of the curvature flow u' = u + dt (w K(u) - (u - f)); `quarter`: K / 4; weight4: 4 w. A NaN in f is a missing
/// pixel.
template <class T>
WARPLOOM_PORTABLE T flow_step(const T& u, const T& f, const T& quarter, const T& weight4, const T& dt) {
  using portable::fma;
  using portable::select;
  const T away = f - u;
  const T data = select(f >= f, away, T(0));
  return fma(dt, fma(weight4, quarter, data), u);
}

/// The points around one point; outside the grid the nearest points repeat.
template <class T>
struct Surroundings {
  const T* u;             ///< of the first component, at the point
  int64_t points;         ///< between components
  int64_t place[3][3];    ///< by axis: offsets of the points before, at and after it

  static WARPLOOM_PORTABLE Surroundings at(const T* u, int64_t points, const int64_t (&i)[3], const int64_t (&extent)[3]) {
    Surroundings s;
    s.points = points;
    int64_t stride = 1, here = 0;
    for (int axis = 0; axis < 3; ++axis) {
      s.place[axis][0] = i[axis] > 0 ? -stride : 0;
      s.place[axis][1] = 0;
      s.place[axis][2] = i[axis] + 1 < extent[axis] ? stride : 0;
      here += i[axis] * stride;
      stride *= extent[axis];
    }
    s.u = u + here;
    return s;
  }
  /// Values at offsets of -1, 0 or 1 along two axes.
  WARPLOOM_PORTABLE T value(int64_t c, int axis, int step, int other = 0, int other_step = 0) const {
    return u[c * points + place[axis][step + 1] + place[other][other_step + 1]];
  }
  /// Difference along `other` at an offset along `axis`.
  WARPLOOM_PORTABLE T central(int64_t c, int axis, int step, int other) const {
    return value(c, axis, step, other, 1) - value(c, axis, step, other, -1);
  }
  /// The difference through the face between the offsets low and low + 1 along `axis`; the sum of squares starts from
  /// `rest`.
  WARPLOOM_PORTABLE T difference(int64_t c, int axis, int low) const { return value(c, axis, low + 1) - value(c, axis, low); }
  template <class Axes>
  WARPLOOM_PORTABLE T square(int64_t c, int axis, int low, const T& rest, const Axes& axes) const {
    using portable::fma;
    const int first = axis == 0 ? 1 : 0, second = axis == 2 ? 1 : 2;
    const T d = difference(c, axis, low), p = central(c, axis, low, first) + central(c, axis, low + 1, first);
    const T q = central(c, axis, low, second) + central(c, axis, low + 1, second);
    return fma(times_square(axes, axis, T(16) * d), d, fma(times_square(axes, second, q), q, fma(times_square(axes, first, p), p, rest)));
  }
};

/// The squares of all six faces of a point: for each axis, those below and above it.
template <class T>
struct FaceSquares {
  T face[3][2];
};
/// The face squares of `count` components combined.
template <class T, class Axes>
WARPLOOM_PORTABLE FaceSquares<T> face_squares(const Surroundings<T>& s, int64_t count, const T& eps16, const Axes& axes) {
  FaceSquares<T> squares;
  WARPLOOM_PORTABLE_UNROLL
  for (int axis = 0; axis < 3; ++axis) {
    T below = eps16, above = eps16;
    for (int64_t c = 0; c < count; ++c) {
      below = s.square(c, axis, -1, below, axes);
      above = s.square(c, axis, 0, above, axes);
    }
    squares.face[axis][0] = below;
    squares.face[axis][1] = above;
  }
  return squares;
}
/// A quarter of the curvature of component c.
template <class T, class Axes>
WARPLOOM_PORTABLE T quarter_curvature(const Surroundings<T>& s, int64_t c, const FaceSquares<T>& squares, const Axes& axes) {
  T sums[3];
  WARPLOOM_PORTABLE_UNROLL
  for (int axis = 0; axis < 3; ++axis) {
    const T high = face_flux(s.difference(c, axis, 0), squares.face[axis][1]);
    sums[axis] = times_square(axes, axis, high - face_flux(s.difference(c, axis, -1), squares.face[axis][0]));
  }
  return flux_sum(sums[0], sums[1], sums[2]);
}

}  // namespace warploom::imaging
