// The initial level set of imaging.segment: the same on every backend.
#pragma once
#include <cmath>

#include "cuda/imaging/segment.h"
#include "cuda/imaging/segment_sums.h"

namespace warploom::imaging::segmentation {

/// The initial level set at a point, clipped; a NaN passed by the caller counts as 0.
template <class R>
WARPLOOM_PORTABLE R clipped_level(double level) {
  const double most = kLargestLevel;
  return static_cast<R>(level > most ? most : level < -most ? -most : level == level ? level : 0.0);
}
struct InitialShape {
  Initial kind;
  double square, low[3], high[3], radius;
  double distance[3];  ///< of points along the axes, in the unit of length
  int32_t dimensions;
};
inline InitialShape shape_of(const SegmentParameters& p) {
  const AxisWeights w = weights_of(p.grid, p.spacing);
  return {p.initial, p.square, {p.low[0], p.low[1], p.low[2]}, {p.high[0], p.high[1], p.high[2]}, p.radius,
          {1 / w.x, 1 / w.y, 1 / w.z}, dimensions_of(p.grid)};
}
WARPLOOM_PORTABLE double initial_level(const InitialShape& shape, const double (&at)[3]) {
  if (shape.kind == Initial::checkerboard) {
    double product = 1;
    for (int a = 0; a < shape.dimensions; ++a) product = product * sine_of_half_turns(at[a] * shape.distance[a] / shape.square);
    return product;
  }
  double square = 0x1p-900, nearest = HUGE_VAL;
  for (int a = 0; a < shape.dimensions; ++a) {
    const double before = (at[a] - shape.low[a]) * shape.distance[a], behind = (shape.high[a] - at[a]) * shape.distance[a];
    square = square + before * before;
    nearest = before < nearest ? before : nearest;
    nearest = behind < nearest ? behind : nearest;
  }
  return shape.kind == Initial::ball ? shape.radius - portable::square_root(square) : nearest;
}

}  // namespace warploom::imaging::segmentation
