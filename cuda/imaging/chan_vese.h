// One step of a Chan-Vese level set at one point, with the same bits on every backend. Templates over the number type,
// which on the CPU is a vector of points.
//
// The face between the points i and i + e_a has the difference d = phi(i + e_a) - phi(i) and, along each other axis b,
// the mean of four differences, m_b = (s_b(i) + s_b(i + e_a)) / 4 with the spans s_b(i) = phi(i + e_b) - phi(i - e_b).
// Its weight is w = 1/N with N^2 = d^2 + sum of the m_b^2 + eta, and its flux is w d: half-point weights. The code
// works with quarters of both. Outside the grid the nearest point repeats, so no flux crosses the border. Where points
// are not equally far apart, differences along an axis are divided by their distance there (axis_factors.h).
#pragma once
#include <cstdint>

#include "cuda/core/portable.h"
#include "cuda/imaging/axis_point.h"

namespace warploom::imaging::segmentation {

/// A face: a quarter of its weight and of its flux, and 16 N^2.
template <class T>
struct Face {
  T weight, flux, square;
};

/// A face of an image across an axis. `across`: the sum of the two points' spans along the other axis.
template <class T, class Axes>
WARPLOOM_PORTABLE Face<T> face_of(const T& d, const T& across, const T& eta16, const Axes& axes, int axis) {
  using portable::fma;
  using portable::inverse_root;
  const T square = fma(times_square(axes, axis, T(16) * d), d, fma(times_square(axes, 1 - axis, across), across, eta16));
  const T weight = inverse_root(square);
  return {weight, weight * d, square};
}
/// A face of a volume. p and q: the sums of the spans along the other axes, in the order x, y, z.
template <class T, class Axes>
WARPLOOM_PORTABLE Face<T> face_of(const T& d, const T& p, const T& q, const T& eta16, const Axes& axes, int axis) {
  using portable::fma;
  using portable::inverse_root;
  const T first = times_square(axes, axis == 0 ? 1 : 0, p), second = times_square(axes, axis == 2 ? 1 : 2, q);
  const T square = fma(times_square(axes, axis, T(16) * d), d, fma(second, q, fma(first, p, eta16)));
  const T weight = inverse_root(square);
  return {weight, weight * d, square};
}

/// Totals over a point's faces: a quarter of the curvature and of the sum of the weights, and four times the sum of the
/// N.
template <class T>
struct Bend {
  T curvature, weights, norms;
};
template <class T>
WARPLOOM_PORTABLE T norm_of(const Face<T>& face) { return face.square * face.weight; }
template <class T, class Axes>
WARPLOOM_PORTABLE Bend<T> bend_of(const Face<T>& east, const Face<T>& west, const Face<T>& south, const Face<T>& north, const Axes& axes) {
  return {times_square(axes, 0, east.flux - west.flux) + times_square(axes, 1, south.flux - north.flux),
          times_square(axes, 0, east.weight + west.weight) + times_square(axes, 1, south.weight + north.weight),
          (norm_of(east) + norm_of(west)) + (norm_of(south) + norm_of(north))};
}
template <class T, class Axes>
WARPLOOM_PORTABLE Bend<T> with_depth(const Bend<T>& bend, const Face<T>& below, const Face<T>& above, const Axes& axes) {
  return {bend.curvature + times_square(axes, 2, below.flux - above.flux),
          bend.weights + times_square(axes, 2, below.weight + above.weight),
          bend.norms + (norm_of(below) + norm_of(above))};
}

/// The bend at a point of an image; at(dx, dy, dz) returns phi at that distance from it.
template <class T, class At, class Axes>
WARPLOOM_PORTABLE Bend<T> bend_in_plane(const At& at, const T& eta16, const Axes& axes) {
  const T here = at(0, 0, 0), e = at(1, 0, 0), w = at(-1, 0, 0), s = at(0, 1, 0), n = at(0, -1, 0);
  const T se = at(1, 1, 0), sw = at(-1, 1, 0), ne = at(1, -1, 0), nw = at(-1, -1, 0);
  const T span_x = e - w, span_y = s - n;
  return bend_of(face_of(e - here, span_y + (se - ne), eta16, axes, 0), face_of(here - w, span_y + (sw - nw), eta16, axes, 0),
                 face_of(s - here, span_x + (se - sw), eta16, axes, 1), face_of(here - n, span_x + (ne - nw), eta16, axes, 1), axes);
}

/// The bend at a point of a volume, from nineteen values.
template <class T, class At, class Axes>
WARPLOOM_PORTABLE Bend<T> bend_in_space(const At& at, const T& eta16, const Axes& axes) {
  const T here = at(0, 0, 0), e = at(1, 0, 0), w = at(-1, 0, 0), s = at(0, 1, 0), n = at(0, -1, 0), b = at(0, 0, 1), a = at(0, 0, -1);
  const T se = at(1, 1, 0), sw = at(-1, 1, 0), ne = at(1, -1, 0), nw = at(-1, -1, 0);
  const T be = at(1, 0, 1), bw = at(-1, 0, 1), ae = at(1, 0, -1), aw = at(-1, 0, -1);
  const T bs = at(0, 1, 1), bn = at(0, -1, 1), as = at(0, 1, -1), an = at(0, -1, -1);
  const T span_x = e - w, span_y = s - n, span_z = b - a;
  const Bend<T> bend = bend_of(
      face_of(e - here, span_y + (se - ne), span_z + (be - ae), eta16, axes, 0),
      face_of(here - w, span_y + (sw - nw), span_z + (bw - aw), eta16, axes, 0),
      face_of(s - here, span_x + (se - sw), span_z + (bs - as), eta16, axes, 1),
      face_of(here - n, span_x + (ne - nw), span_z + (bn - an), eta16, axes, 1), axes);
  return with_depth(bend, face_of(b - here, span_x + (be - bw), span_y + (bs - bn), eta16, axes, 2),
                    face_of(here - a, span_x + (ae - aw), span_y + (as - an), eta16, axes, 2), axes);
}

/// Coefficients of a step. Image values are converted to u = (f - centre) * inverse_range.
template <class R>
struct Flow {
  R centre, inverse_range, lambda1, lambda2;
  R mu4;             ///< 4 mu, because the code works with quarters
  R nu, eta16;
  R growth, floor;   ///< (epsilon^2 + phi^2) / (epsilon dt) = growth phi^2 + floor
  R most;            ///< largest finite number: points above it have no data
  R inverse_norms;   ///< 1 / (4 faces of a point): from Bend::norms to |grad phi|
  R epsilon_inverse; ///< 1 / epsilon
  int32_t semi_implicit;
  AxisFactors<R> axes;
  int32_t even;      ///< all factors are 1
};

template <class T, class R>
WARPLOOM_PORTABLE T value_of(const Flow<R>& flow, const T& pixel) {
  return (pixel - T(flow.centre)) * T(flow.inverse_range);
}

/// lambda1 (u - c1)^2 - lambda2 (u - c2)^2: the force that pushes a point outwards.
template <class T>
WARPLOOM_PORTABLE T misfit_of(const T& u, const T& c1, const T& c2, const T& lambda1, const T& lambda2) {
  using portable::fma;
  const T a = u - c1, b = u - c2;
  return fma(lambda1 * a, a, -(lambda2 * b * b));
}

/// Whether a pixel holds data; T is a number or a vector.
template <class T, class R>
WARPLOOM_PORTABLE auto has_data(const Flow<R>& flow, const T& pixel) {
  using portable::absolute;
  return T(flow.most) >= absolute(pixel);
}
/// The force on a point, opposed to the curvature: nu, plus the misfit if there is data.
template <class T, class R>
WARPLOOM_PORTABLE T force_of(const Flow<R>& flow, const T& pixel, const T& c1, const T& c2) {
  using portable::select;
  const T misfit = misfit_of(value_of(flow, pixel), c1, c2, T(flow.lambda1), T(flow.lambda2));
  return T(flow.nu) + select(has_data(flow, pixel), misfit, T(R(0)));
}

/// The increment of phi: (mu K - force) / (1/(dt delta) + mu W). The explicit step replaces the sum in the divisor by
/// its larger term. delta = epsilon / (epsilon^2 + phi^2) (Getreuer 2012, section 4; K and W: sums of fluxes and
/// weights).
template <class T, class R>
WARPLOOM_PORTABLE T increment(const Flow<R>& flow, const T& phi, const T& curvature, const T& weights, const T& force) {
  using portable::fma;
  using portable::select;
  using portable::small_reciprocal;
  const T rate = fma(T(flow.growth) * phi, phi, T(flow.floor));
  const T damping = T(flow.mu4) * weights;
  const T bottom = flow.semi_implicit != 0 ? rate + damping : select(rate > damping, rate, damping);
  return fma(T(flow.mu4), curvature, -force) * small_reciprocal(bottom);
}

template <class T, class R, int kCount>
WARPLOOM_PORTABLE T polynomial_of(const R (&factor)[kCount], const T& s) {
  using portable::fma;
  T sum = T(factor[kCount - 1]);
#ifdef __CUDACC__
#pragma unroll
#endif
  for (int k = kCount - 2; k >= 0; --k) sum = fma(sum, s, T(factor[k]));
  return sum;
}
/// atan(t) / t from s = t^2 in [0, 1], fitted at Chebyshev points: errors below 4e-9 (float) and 2e-15 (double).
template <class R, class T>
WARPLOOM_PORTABLE T arc_tangent_over(const T& s) {
  if constexpr (sizeof(R) == 4) {
    const float factor[] = {0.999999997160545465f, -0.333332762919825514f, 0.199980752811487136f, -0.142600160828209048f,
                            0.109323415013030928f, -0.0834972496830160175f, 0.05708955593030619f, -0.0303518647857811706f,
                            0.0104876492549493056f, -0.00170117006406859723f};
    return polynomial_of(factor, s);
  } else {
    const double factor[] = {0.999999999999998766, -0.333333333332532845, 0.199999999913191948, -0.142857139104267723,
                             0.111111024994222412, -0.0909078796801305274, 0.0769117006794196608, -0.0665911994364307312,
                             0.058455877123838655, -0.0512782902461370972, 0.0437719001071152314, -0.0348745034449292526,
                             0.0245891642180646899, -0.0144588087368896927, 0.00664261839883701064, -0.0021983905110338001,
                             0.000461147122639562475, -0.0000457246675285974595};
    return polynomial_of(factor, s);
  }
}

/// The smoothed step H = 1/2 + atan(x) / pi; R is the number type of T.
template <class R, class T>
WARPLOOM_PORTABLE T smooth_step(const T& x) {
  using portable::absolute;
  using portable::select;
  using portable::small_reciprocal;
  const T size = absolute(x), one = T(R(1)), half = T(R(0.5));
  const auto far = size > one;
  const T t = select(far, small_reciprocal(select(far, size, one)), size);
  const T part = arc_tangent_over<R>(t * t) * t * T(R(0.318309886183790671538));
  const T share = select(far, half - part, part);
  return select(x < T(R(0)), half - share, half + share);
}
/// The derivative divided by x: 1 / (pi (1 + x^2)).
template <class R, class T>
WARPLOOM_PORTABLE T smooth_delta(const T& x) {
  using portable::fma;
  using portable::small_reciprocal;
  return T(R(0.318309886183790671538)) * small_reciprocal(fma(x, x, T(R(1))));
}

/// sin(pi x) for any |x| below 2^40, to about 1e-15.
WARPLOOM_PORTABLE double sine_of_half_turns(double x) {
  const double whole = floor(x + 0.5), t = x - whole, s = t * t;
  const double factor[9] = {3.14159265358979324, -5.16771278004996961, 2.55016403987730047, -0.599264529318944681, 0.082145886573102895,
                            -0.0073704305059169434, 0.00046629981618983938, -0.0000219034970746260172, 7.69782676822419065e-7};
  const double value = polynomial_of(factor, s) * t, half = 0.5 * whole;
  return half == floor(half) ? value : -value;
}

}  // namespace warploom::imaging::segmentation
