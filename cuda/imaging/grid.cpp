#include "cuda/imaging/grid.h"

#include <algorithm>
#include <cmath>

#include "cuda/core/check.h"

namespace warploom::imaging {

Status check(const Grid& g) {
  if (g.nx * g.ny > kMostPoints / g.nz) return invalid("depth", "width * height * depth is too large");
  return {};
}

AxisWeights weights_of(const Grid& g, const Spacing& s) {
  double unit = HUGE_VAL;
  if (g.nx > 1) unit = std::min(unit, s.x);
  if (g.ny > 1) unit = std::min(unit, s.y);
  if (g.nz > 1) unit = std::min(unit, s.z);
  return {g.nx > 1 ? unit / s.x : 1, g.ny > 1 ? unit / s.y : 1, g.nz > 1 ? unit / s.z : 1};
}

}  // namespace warploom::imaging
