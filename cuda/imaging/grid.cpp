#include "cuda/imaging/grid.h"

#include "cuda/core/check.h"

namespace warploom::imaging {

Status check(const Grid& g) {
  if (g.nx * g.ny > kMostPoints / g.nz) return invalid("depth", "width * height * depth is too large");
  return {};
}

}  // namespace warploom::imaging
