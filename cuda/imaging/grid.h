// Regular grids of pixels or voxels, used by every operation of imaging.
#pragma once
#include <cstdint>

#include "cuda/core/declare.h"
#include "cuda/core/types.h"

namespace warploom::imaging {

/// x varies fastest: component c of the point (x, y, z) of an image is element
///   offset + ((c * nz + z) * ny + y) * nx + x
/// of its view. A two-dimensional image has nz = 1. Points are one unit apart unless a Spacing says otherwise. Outside
/// the grid the nearest point repeats (no flux through the border).
struct Grid {
  int64_t nx = 1, ny = 1, nz = 1;
};

/// Distances of adjacent points along the axes. Only their ratios count: the unit of length is the smallest of those
/// along axes with several points.
struct Spacing {
  double x = 1, y = 1, z = 1;
};

/// The unit of length divided by the distance of points, by axis: factors of differences, at most 1. 1 for axes with
/// one point.
struct AxisWeights {
  double x = 1, y = 1, z = 1;
};

inline constexpr int64_t kMostExtent = int64_t{1} << 30;
/// Most points of a grid: their bytes, with a few dozen components, stay far from overflow.
inline constexpr int64_t kMostPoints = int64_t{1} << 40;
inline constexpr int64_t kMostComponents = 4096;
/// Bounds of the constant added to squared gradients, within which the root of the sum neither underflows nor
/// overflows.
inline constexpr double kLeastEps = 1e-30, kMostEps = 1e30;

inline int64_t points_of(const Grid& g) { return g.nx * g.ny * g.nz; }
inline int dimensions_of(const Grid& g) { return g.nz > 1 ? 3 : 2; }

template <class Visitor>
void visit_grid(Visitor& v, Grid& g, int64_t most = kMostExtent) {
  v.integer("width", g.nx, between(1, most));
  v.integer("height", g.ny, between(1, most));
  v.integer("depth", g.nz, between(1, most));
}

inline constexpr double kLeastSpacing = 1e-9, kMostSpacing = 1e9;

template <class Visitor>
void visit_spacing(Visitor& v, Spacing& s) {
  v.real("spacingX", s.x, between(kLeastSpacing, kMostSpacing));
  v.real("spacingY", s.y, between(kLeastSpacing, kMostSpacing));
  v.real("spacingZ", s.z, between(kLeastSpacing, kMostSpacing));
}

AxisWeights weights_of(const Grid& g, const Spacing& s);

/// Checks the number of points; visit_grid() checks the extents.
Status check(const Grid& g);

}  // namespace warploom::imaging
