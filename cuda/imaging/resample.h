// imaging.resample: the steps between the levels of a pyramid.
#pragma once
#include <cstdint>

#include "cuda/core/declare.h"
#include "cuda/core/types.h"
#include "cuda/imaging/grid.h"

namespace warploom::imaging {

/// Down: an image on a grid with half the extent (rounded up) along the halved axes, smoothed with the weights 1 3 3 1
/// (over 8); point i of a halved axis lies between points 2i and 2i + 1. Up: a displacement interpolated linearly from
/// there to the fine grid; its component along a halved axis is doubled, because it is measured in points. Beyond the
/// border the nearest point repeats.
struct ResampleParameters {
  ScalarType type = ScalarType::float32;  ///< float32 or float64
  Grid grid;                              ///< the fine one; fewer than 2^31 points
  int64_t channels = 1;
  bool halve_x = true, halve_y = true, halve_z = true;
  bool up = false;
  View values;  ///< channels * points of the source grid
  View result;  ///< channels * points of the other grid
};

template <class Visitor>
void visit(Visitor& v, ResampleParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  visit_grid(v, p.grid);
  v.integer("channels", p.channels, between(1, kMostExtent));
  v.boolean("halveX", p.halve_x);
  v.boolean("halveY", p.halve_y);
  v.boolean("halveZ", p.halve_z);
  v.boolean("up", p.up);
  v.view("values", p.values, Role::input);
  v.view("result", p.result, Role::output);
}

Status check(const ResampleParameters& p);

inline Grid coarse_grid(const ResampleParameters& p) {
  return {p.halve_x ? (p.grid.nx + 1) / 2 : p.grid.nx, p.halve_y ? (p.grid.ny + 1) / 2 : p.grid.ny,
          p.halve_z ? (p.grid.nz + 1) / 2 : p.grid.nz};
}

}  // namespace warploom::imaging
