// Factors of the axes of a grid whose points are not equally far apart (grid.h). With equal distances all factors are 1,
// and EvenAxes leaves them out. No templates that take vectors here: native/imaging/kernels.h says why.
#pragma once
#include <cstdint>

#include "cuda/imaging/grid.h"

namespace warploom::imaging {

/// Factors of differences, and their squares, which are those of second differences.
template <class R>
struct AxisFactors {
  R length[3] = {R(1), R(1), R(1)}, square[3] = {R(1), R(1), R(1)};
};
struct EvenAxes {};

template <class R>
AxisFactors<R> axis_factors(const Grid& grid, const Spacing& spacing) {
  const AxisWeights w = weights_of(grid, spacing);
  return {{static_cast<R>(w.x), static_cast<R>(w.y), static_cast<R>(w.z)},
          {static_cast<R>(w.x * w.x), static_cast<R>(w.y * w.y), static_cast<R>(w.z * w.z)}};
}
inline bool is_even(const Grid& grid, const Spacing& spacing) {
  const AxisWeights w = weights_of(grid, spacing);
  return w.x == 1 && w.y == 1 && w.z == 1;
}

}  // namespace warploom::imaging
