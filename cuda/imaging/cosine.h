// imaging.cosine: cosine transforms of images over all their axes.
#pragma once
#include <cmath>
#include <cstdint>

#include "cuda/core/declare.h"
#include "cuda/core/types.h"
#include "cuda/imaging/cosine_lines.h"
#include "cuda/imaging/grid.h"

namespace warploom::imaging {

/// The orthonormal transform of type II along x, y and z (axes of one point change nothing), of every component on its own, or its
/// inverse, of type III: result(k) = s(k) sum_x values(x) cos(pi (2x + 1) k / 2n) with s(0) = sqrt(1/n), s(k) = sqrt(2/n).
struct CosineParameters {
  ScalarType type = ScalarType::float64;  ///< float32 or float64
  Grid grid;                              ///< no extent above kLongestLine
  int64_t channels = 1;
  bool inverse = false;
  View values;  ///< channels * points, adjacent
  View result;  ///< as `values`, apart from it
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

/// The pass of the orthonormal transform along one axis, but for tables and data.
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
