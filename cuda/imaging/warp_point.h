// One point of imaging.warp, imaging.resample and imaging.jacobian; a task holds the data for a range of points.
#pragma once
#include "cuda/imaging/jacobian.h"
#include "cuda/imaging/registration_point.h"

namespace warploom::imaging {

/// Extents of a grid of fewer than 2^31 points.
struct SmallGrid {
  int32_t extent[3];
};

/// Coordinates of point i.
WARPLOOM_PORTABLE void coordinates(const SmallGrid& grid, uint32_t i, int32_t (&at)[3]) {
  const uint32_t nx = static_cast<uint32_t>(grid.extent[0]), ny = static_cast<uint32_t>(grid.extent[1]);
  const uint32_t row = i / nx;
  at[0] = static_cast<int32_t>(i - row * nx);
  at[2] = static_cast<int32_t>(row / ny);
  at[1] = static_cast<int32_t>(row - static_cast<uint32_t>(at[2]) * ny);
}

/// Values of an image at positions.
template <class T>
struct WarpTask {
  SmallGrid grid;
  bool relative;        ///< position i is grid point i plus a displacement
  int32_t channels;
  int64_t points, count;  ///< of the grid; number of positions
  const T* image;
  const T* positions;
  T* result;

  WARPLOOM_PORTABLE void point(int64_t i) const {
    if (grid.extent[2] > 1) take<3>(i);
    else take<2>(i);
  }

 private:
  template <int kAxes>
  WARPLOOM_PORTABLE void take(int64_t i) const {
    using L = ScalarLanes<T>;
    int32_t at[3] = {0, 0, 0}, stride = 1;
    if (relative) coordinates(grid, static_cast<uint32_t>(i), at);
    Around<L> places[kAxes];
    bool known = true;
    for (int a = 0; a < kAxes; ++a) {
      const T position = static_cast<T>(at[a]) + positions[a * count + i];
      known = known && position == position;
      places[a] = around<L>(position, grid.extent[a], stride);
      stride *= grid.extent[a];
    }
    for (int32_t c = 0; c < channels; ++c) {
      const T value = interpolate<L, kAxes>(image + c * points, places);
      result[c * count + i] = known ? value : static_cast<T>(__builtin_nan(""));
    }
  }
};

/// Halves an image along some axes, or doubles a displacement.
template <class T>
struct ResampleTask {
  SmallGrid fine, coarse;  ///< along a halved axis coarse = ceil(fine / 2)
  bool halved[3];
  int32_t channels;
  const T* from;
  T* to;
  bool up;  ///< to the fine grid
  int64_t fine_points, coarse_points;

  WARPLOOM_PORTABLE void point(int64_t i) const {
    int32_t at[3];
    coordinates(up ? fine : coarse, static_cast<uint32_t>(i), at);
    for (int32_t c = 0; c < channels; ++c) {
      if (up) to[c * fine_points + i] = twice_if(c, doubled(from + c * coarse_points, at));
      else to[c * coarse_points + i] = halved_value(from + c * fine_points, at);
    }
  }

 private:
  /// A displacement is measured in points, and there are twice as many.
  WARPLOOM_PORTABLE T twice_if(int32_t axis, T value) const { return axis < 3 && halved[axis] ? value + value : value; }

  /// Taps of one axis, and the position of the first: binomial weights 1 3 3 1 around the point between 2i and 2i + 1,
  /// or the point itself.
  WARPLOOM_PORTABLE int32_t tap(int axis, int32_t at, int32_t t) const {
    const int32_t place = halved[axis] ? 2 * at - 1 + t : at;
    return place < 0 ? 0 : place >= fine.extent[axis] ? fine.extent[axis] - 1 : place;
  }
  static WARPLOOM_PORTABLE T binomial(const T (&v)[4]) {
    return portable::fma(T(0.375), v[1] + v[2], T(0.125) * (v[0] + v[3]));
  }
  WARPLOOM_PORTABLE T halved_value(const T* image, const int32_t (&at)[3]) const {
    T plane[4] = {0, 0, 0, 0};
    for (int32_t k = 0; k < (halved[2] ? 4 : 1); ++k) {
      T row[4] = {0, 0, 0, 0};
      for (int32_t j = 0; j < (halved[1] ? 4 : 1); ++j) {
        const T* const line = image + (static_cast<int64_t>(tap(2, at[2], k)) * fine.extent[1] + tap(1, at[1], j)) * fine.extent[0];
        T value[4] = {0, 0, 0, 0};
        for (int32_t i = 0; i < (halved[0] ? 4 : 1); ++i) value[i] = line[tap(0, at[0], i)];
        row[j] = halved[0] ? binomial(value) : value[0];
      }
      plane[k] = halved[1] ? binomial(row) : row[0];
    }
    return halved[2] ? binomial(plane) : plane[0];
  }

  /// Linear interpolation: fine point 2i lies a quarter before coarse point i, and 2i + 1 a quarter after it.
  WARPLOOM_PORTABLE int32_t nearest(int axis, int32_t at) const { return halved[axis] ? at >> 1 : at; }
  WARPLOOM_PORTABLE int32_t second(int axis, int32_t at) const {
    if (!halved[axis]) return at;
    const int32_t place = (at >> 1) + ((at & 1) != 0 ? 1 : -1);
    return place < 0 ? 0 : place >= coarse.extent[axis] ? coarse.extent[axis] - 1 : place;
  }
  static WARPLOOM_PORTABLE T between(T near, T far) { return portable::fma(T(0.25), far - near, near); }
  WARPLOOM_PORTABLE T doubled(const T* image, const int32_t (&at)[3]) const {
    const int32_t x[2] = {nearest(0, at[0]), second(0, at[0])};
    T plane[2];
    for (int k = 0; k < 2; ++k) {
      T row[2];
      for (int j = 0; j < 2; ++j) {
        const int64_t z = k == 0 ? nearest(2, at[2]) : second(2, at[2]), y = j == 0 ? nearest(1, at[1]) : second(1, at[1]);
        const T* const line = image + (z * coarse.extent[1] + y) * coarse.extent[0];
        row[j] = between(line[x[0]], line[x[1]]);
      }
      plane[k] = between(row[0], row[1]);
    }
    return between(plane[0], plane[1]);
  }
};

/// det(1 + grad u) of a displacement: central differences, one-sided at the border.
template <class T>
struct JacobianTask {
  SmallGrid grid;
  int64_t points;
  const T* displacement;
  T* result;  ///< may be null

  WARPLOOM_PORTABLE T determinant(int64_t i) const {
    int32_t at[3];
    coordinates(grid, static_cast<uint32_t>(i), at);
    T d[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const int axes = grid.extent[2] > 1 ? 3 : 2;
    int64_t stride = 1;
    for (int a = 0; a < axes; ++a) {
      const int64_t before = at[a] > 0 ? i - stride : i, after = at[a] < grid.extent[a] - 1 ? i + stride : i;
      const T scale = after - before == 2 * stride ? T(0.5) : T(1);
      for (int c = 0; c < axes; ++c) {
        const T* const u = displacement + c * points;
        const T slope = scale * (u[after] - u[before]);
        d[c][a] = c == a ? T(1) + slope : slope;
      }
      stride *= grid.extent[a];
    }
    const T plane = minor_of(d[0][0], d[0][1], d[1][0], d[1][1]);
    if (axes == 2) return plane;
    const T x = minor_of(d[1][1], d[1][2], d[2][1], d[2][2]), y = minor_of(d[1][0], d[1][2], d[2][0], d[2][2]);
    const T z = minor_of(d[1][0], d[1][1], d[2][0], d[2][1]);
    return portable::fma(d[0][0], x, portable::fma(-d[0][1], y, d[0][2] * z));
  }

 private:
  /// a d - b c.
  static WARPLOOM_PORTABLE T minor_of(T a, T b, T c, T d) { return portable::fma(a, d, -(b * c)); }
};

/// Bounds of determinants; how many are zero or less, and how many are NaN.
struct JacobianFigures {
  double least, most;
  int64_t folded, unknown;
};
WARPLOOM_PORTABLE JacobianFigures no_determinants() { return {HUGE_VAL, -HUGE_VAL, 0, 0}; }
WARPLOOM_PORTABLE void add_determinant(JacobianFigures& figures, double value) {
  figures.least = value < figures.least ? value : figures.least;
  figures.most = value > figures.most ? value : figures.most;
  figures.folded += value <= 0 ? 1 : 0;
  figures.unknown += value != value ? 1 : 0;
}
WARPLOOM_PORTABLE JacobianFigures combined(const JacobianFigures& a, const JacobianFigures& b) {
  return {b.least < a.least ? b.least : a.least, b.most > a.most ? b.most : a.most, a.folded + b.folded, a.unknown + b.unknown};
}
WARPLOOM_PORTABLE JacobianBounds bounds_of(const JacobianFigures& f) {
  return {f.least, f.most, static_cast<double>(f.folded), static_cast<double>(f.unknown)};
}

}  // namespace warploom::imaging
