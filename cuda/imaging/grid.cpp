#include "cuda/imaging/grid.h"

#include "cuda/core/check.h"

namespace warploom::imaging {

Status check(const Grid& g) {
  WARPLOOM_TRY(check_whole(g.nx, 1, kMostExtent, "width"));
  WARPLOOM_TRY(check_whole(g.ny, 1, kMostExtent, "height"));
  WARPLOOM_TRY(check_whole(g.nz, 1, kMostExtent, "depth"));
  if (g.nx * g.ny > kMostPoints / g.nz) return invalid("depth", "width * height * depth is too large");
  return {};
}

}  // namespace warploom::imaging
