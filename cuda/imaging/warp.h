// imaging.warp: values of an image at given positions.
#pragma once
#include <cstdint>

#include "cuda/core/declare.h"
#include "cuda/core/types.h"
#include "cuda/imaging/grid.h"

namespace warploom::imaging {

inline constexpr int64_t kMostSmallPoints = (int64_t{1} << 31) - 1;

/// Result i of a channel is the image, interpolated linearly at position i. A position has one coordinate per axis (2,
/// or 3 if nz > 1), stored axis by axis. Outside the grid the nearest border point is used. A NaN coordinate gives NaN.
struct WarpParameters {
  ScalarType type = ScalarType::float32;  ///< float32 or float64
  Grid grid;                              ///< fewer than 2^31 points
  int64_t channels = 1;
  /// Position i is grid point i plus the displacement; then count must be the number of grid points.
  bool relative = true;
  int64_t count = 0;     ///< positions
  View image;            ///< channels * points
  View positions;        ///< axes * count
  View result;           ///< channels * count
};

template <class Visitor>
void visit(Visitor& v, WarpParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  visit_grid(v, p.grid);
  v.integer("channels", p.channels, between(1, kMostExtent));
  v.boolean("relative", p.relative);
  v.integer("count", p.count, between(0, kMostSmallPoints));
  v.view("image", p.image, Role::input);
  v.view("positions", p.positions, Role::input);
  v.view("result", p.result, Role::output);
}

Status check(const WarpParameters& p);
/// Checks for grids of fewer than 2^31 points, and their channels.
Status check_small(const Grid& grid, int64_t channels);

}  // namespace warploom::imaging
