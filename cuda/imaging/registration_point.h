// Interpolation and forces at a point, as templates over a set of lanes: one point on the GPU, a vector of points on
// the CPU; the same bits.
//
// A set of lanes L has L::Real, L::Value (numbers), L::Index (integers), and whole(), real(), clamp(), gather(); see
// ScalarLanes below.
#pragma once
#include <cstdint>

#include "cuda/core/portable.h"
#include "cuda/imaging/axis_point.h"

namespace warploom::imaging {

template <class T>
struct ScalarLanes {
  using Real = T;
  using Value = T;
  using Index = int32_t;
  /// The integer part of a number >= 0 that fits an index.
  static WARPLOOM_PORTABLE Index whole(T value) { return static_cast<Index>(value); }
  static WARPLOOM_PORTABLE T real(Index index) { return static_cast<T>(index); }
  static WARPLOOM_PORTABLE Index clamp(Index index, int32_t most) { return index < 0 ? 0 : index > most ? most : index; }
  static WARPLOOM_PORTABLE T gather(const T* from, Index index) { return from[index]; }
};

/// A position along one axis: the four grid points around it, clamped to the grid, and the fraction between the middle
/// two.
template <class L>
struct Around {
  typename L::Index at[4];
  typename L::Value between;
};

/// Positions more than two points outside count as two points outside; all four points are then the border point. NaN
/// counts as before the grid. `points` is the extent; `stride` is the distance between points, by which the indices are
/// multiplied.
template <class L>
WARPLOOM_PORTABLE Around<L> around(const typename L::Value& position, int32_t points, int32_t stride) {
  using V = typename L::Value;
  using portable::select;
  const V least(typename L::Real(-2)), most = V(static_cast<typename L::Real>(points + 1));
  V inside = select(position > least, position, least);
  inside = select(inside < most, inside, most);
  const V shifted = inside - least;
  const typename L::Index below = L::whole(shifted);
  Around<L> result;
  result.between = shifted - L::real(below);
  for (int32_t i = 0; i < 4; ++i) result.at[i] = L::clamp(below + (i - 3), points - 1) * stride;
  return result;
}

template <class V>
WARPLOOM_PORTABLE V mix(const V& a, const V& b, const V& between) {
  using portable::fma;
  return fma(between, b - a, a);
}

/// Value and gradient of an image at a position. The gradient is the central difference of the interpolated values one
/// point before and after.
template <class L, int kAxes>
struct Sample {
  typename L::Value value;
  typename L::Value gradient[kAxes];
};

/// Only the interpolated value.
template <class L, int kAxes>
WARPLOOM_PORTABLE typename L::Value interpolate(const typename L::Real* image, const Around<L> (&p)[kAxes]) {
  using V = typename L::Value;
  V plane[2];
  for (int a = 0; a < (kAxes == 3 ? 2 : 1); ++a) {
    V row[2];
    for (int b = 0; b < 2; ++b) {
      typename L::Index at = p[1].at[1 + b];
      if constexpr (kAxes == 3) at = at + p[2].at[1 + a];
      row[b] = mix<V>(L::gather(image, at + p[0].at[1]), L::gather(image, at + p[0].at[2]), p[0].between);
    }
    plane[a] = mix<V>(row[0], row[1], p[1].between);
  }
  if constexpr (kAxes == 3) return mix<V>(plane[0], plane[1], p[2].between);
  else return plane[0];
}

/// Rows of the sample: along x at one point of y (and z).
template <class L>
struct SampleRow {
  typename L::Value value, difference;
};
template <class L>
WARPLOOM_PORTABLE typename L::Value row_value(const typename L::Real* image, const typename L::Index& at, const Around<L>& x) {
  return mix<typename L::Value>(L::gather(image, at + x.at[1]), L::gather(image, at + x.at[2]), x.between);
}
template <class L>
WARPLOOM_PORTABLE SampleRow<L> sample_row(const typename L::Real* image, const typename L::Index& at, const Around<L>& x) {
  using V = typename L::Value;
  const V a = L::gather(image, at + x.at[0]), b = L::gather(image, at + x.at[1]);
  const V c = L::gather(image, at + x.at[2]), d = L::gather(image, at + x.at[3]);
  return {mix<V>(b, c, x.between), mix<V>(c - a, d - b, x.between)};
}

template <class L>
WARPLOOM_PORTABLE Sample<L, 2> sample(const typename L::Real* image, const Around<L> (&p)[2]) {
  using V = typename L::Value;
  const V half(typename L::Real(0.5));
  const SampleRow<L> r1 = sample_row<L>(image, p[1].at[1], p[0]), r2 = sample_row<L>(image, p[1].at[2], p[0]);
  const V r0 = row_value<L>(image, p[1].at[0], p[0]), r3 = row_value<L>(image, p[1].at[3], p[0]);
  return {mix<V>(r1.value, r2.value, p[1].between),
          {half * mix<V>(r1.difference, r2.difference, p[1].between), half * mix<V>(r2.value - r0, r3 - r1.value, p[1].between)}};
}

template <class L>
WARPLOOM_PORTABLE Sample<L, 3> sample(const typename L::Real* image, const Around<L> (&p)[3]) {
  using V = typename L::Value;
  const V half(typename L::Real(0.5));
  V value[2], along_x[2], along_y[2];
  for (int a = 0; a < 2; ++a) {
    const typename L::Index plane = p[2].at[1 + a];
    const SampleRow<L> r1 = sample_row<L>(image, plane + p[1].at[1], p[0]), r2 = sample_row<L>(image, plane + p[1].at[2], p[0]);
    const V r0 = row_value<L>(image, plane + p[1].at[0], p[0]), r3 = row_value<L>(image, plane + p[1].at[3], p[0]);
    value[a] = mix<V>(r1.value, r2.value, p[1].between);
    along_x[a] = mix<V>(r1.difference, r2.difference, p[1].between);
    along_y[a] = mix<V>(r2.value - r0, r3 - r1.value, p[1].between);
  }
  V outer[2];
  for (int a = 0; a < 2; ++a) {
    const typename L::Index plane = p[2].at[3 * a];
    outer[a] = mix<V>(row_value<L>(image, plane + p[1].at[1], p[0]), row_value<L>(image, plane + p[1].at[2], p[0]), p[1].between);
  }
  return {mix<V>(value[0], value[1], p[2].between),
          {half * mix<V>(along_x[0], along_x[1], p[2].between), half * mix<V>(along_y[0], along_y[1], p[2].between),
           half * mix<V>(value[1] - outer[0], outer[1] - value[0], p[2].between)}};
}

/// |gradient|^2 of an image at a grid point, by central differences; at the border half a one-sided difference.
template <class T, int kAxes>
WARPLOOM_PORTABLE T gradient_square(const T* image, const int32_t (&at)[3], const int32_t (&extent)[3], const AxisFactors<T>& axes) {
  T result = T(0);
  int32_t stride = 1, center = 0;
  for (int a = 0; a < kAxes; ++a) {
    center += at[a] * stride;
    stride *= extent[a];
  }
  stride = 1;
  for (int a = 0; a < kAxes; ++a) {
    const T before = image[at[a] > 0 ? center - stride : center], after = image[at[a] < extent[a] - 1 ? center + stride : center];
    const T slope = T(0.5) * (after - before);
    result = portable::fma(times_square(axes, a, slope), slope, result);
    stride *= extent[a];
  }
  return result;
}

/// The sum of |gradient|^2 over the channels in which it is finite.
template <class T, int kAxes>
WARPLOOM_PORTABLE double gradient_square_of(const T* image, int32_t channels, int64_t points, const int32_t (&at)[3],
                                            const int32_t (&extent)[3], const AxisFactors<T>& axes) {
  double sum = 0;
  for (int32_t c = 0; c < channels; ++c) {
    const double value = static_cast<double>(gradient_square<T, kAxes>(image + c * points, at, extent, axes));
    if (value < HUGE_VAL) sum += value;
  }
  return sum;
}

/// The Laplacian at a grid point; beyond the border the nearest point repeats.
template <class T, int kAxes>
WARPLOOM_PORTABLE T laplacian(const T* values, const int32_t (&at)[3], const int32_t (&extent)[3], int64_t center,
                              const AxisFactors<T>& axes) {
  const T middle = values[center];
  T result = T(0);
  int64_t stride = 1;
  for (int a = 0; a < kAxes; ++a) {
    const T before = at[a] > 0 ? values[center - stride] : middle, after = at[a] < extent[a] - 1 ? values[center + stride] : middle;
    result = result + times_square(axes, a, (before - middle) + (after - middle));
    stride *= extent[a];
  }
  return result;
}

/// Factors of the force: residual = reference_factor * R + template_factor * T + constant, and the steps by axis. A step
/// has the axis's factor twice (axis_factors.h): u counts points, and both the gradient and the regulariser lengths.
template <class V>
struct ForceFactors {
  V reference, warped, constant, step[3];
};

/// Moves u by step * residual * gradient T(x + u). If the residual or the force is not finite, u stays and `warped`
/// becomes NaN.
template <class L, int kAxes>
WARPLOOM_PORTABLE void move_point(const Sample<L, kAxes>& sample, const typename L::Value& reference,
                                  const ForceFactors<typename L::Value>& factors, typename L::Value (&u)[kAxes],
                                  typename L::Value& warped) {
  using V = typename L::Value;
  using portable::absolute;
  using portable::fma;
  using portable::select;
  const V most(static_cast<typename L::Real>(HUGE_VAL)), zero(typename L::Real(0));
  const V residual = fma(factors.reference, reference, fma(factors.warped, sample.value, factors.constant));
  V force[kAxes], size = absolute(residual);
  for (int a = 0; a < kAxes; ++a) {
    force[a] = residual * sample.gradient[a];
    size = size + absolute(force[a]);
  }
  const auto finite = size < most;
  for (int a = 0; a < kAxes; ++a) u[a] = fma(factors.step[a], select(finite, force[a], zero), u[a]);
  warped = select(finite, sample.value, V(static_cast<typename L::Real>(__builtin_nan(""))));
}

}  // namespace warploom::imaging
