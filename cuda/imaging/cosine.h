// imaging.cosine: cosine transforms of images over all their axes.
#pragma once
#include <cmath>
#include <cstdint>

#include "cuda/core/declare.h"
#include "cuda/core/types.h"
#include "cuda/imaging/cosine_lines.h"
#include "cuda/imaging/grid.h"

namespace warploom::imaging {

/// The orthonormal transform of type II along x, y and z, of every component separately, or its inverse, of type III.
/// Axes of one point change nothing. result(k) = s(k) sum_x values(x) cos(pi (2x + 1) k / 2n) with s(0) = sqrt(1/n) and
/// s(k) = sqrt(2/n).
struct CosineParameters {
  ScalarType type = ScalarType::float64;  ///< float32 or float64
  Grid grid;                              ///< no extent above kLongestLine
  int64_t channels = 1;
  bool inverse = false;
  View values;  ///< channels * points, contiguous
  View result;  ///< like `values`, without overlapping it
};

template <class Visitor>
void visit(Visitor& v, CosineParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  visit_grid(v, p.grid, kLongestLine);
  v.integer("channels", p.channels, between(1, kMostExtent));
  v.boolean("inverse", p.inverse);
  v.view("values", p.values, Role::input);
  v.view("result", p.result, Role::output);
}

Status check(const CosineParameters& p);

/// The pass of the orthonormal transform along one axis, without tables and data.
template <class T>
LinesTask<T> orthonormal_pass(const CosineParameters& p, int axis) {
  LinesTask<T> task;
  set_axis(task, axis, p.grid.nx, p.grid.ny, p.grid.nz, static_cast<int>(p.channels));
  const int64_t extents[3] = {p.grid.nx, p.grid.ny, p.grid.nz};
  const double n = static_cast<double>(extents[axis]);
  task.mode = p.inverse ? LinesMode::inverse : LinesMode::forward;
  task.factor = static_cast<T>(p.inverse ? std::sqrt(2 * n) : std::sqrt(0.5 / n));
  task.zero_factor = static_cast<T>(p.inverse ? 2 * std::sqrt(n) : 0.5 * std::sqrt(1 / n));
  return task;
}

}  // namespace warploom::imaging
