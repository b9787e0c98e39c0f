#include "cuda/imaging/jacobian.h"

#include "cuda/core/check.h"
#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"
#include "cuda/imaging/warp.h"

namespace warploom::imaging {

Status check(const JacobianParameters& p) {
  WARPLOOM_TRY(check_ranges(p));
  WARPLOOM_TRY(check_real_type(p.type));
  WARPLOOM_TRY(check_small(p.grid, 1));
  const int64_t points = points_of(p.grid), count = dimensions_of(p.grid) * points;
  WARPLOOM_TRY(check_adjacent(p.displacement, count, "displacement"));
  if (p.result.data != nullptr) WARPLOOM_TRY(check_adjacent(p.result, points, "result"));
  if (overlap(p.displacement, count, p.result, points, p.type)) return invalid("result", "overlaps displacement");
  return {};
}

void footprint(Footprint& f, const JacobianParameters& p) {
  f.writes(p.result, {p.grid.nx, p.grid.ny, p.grid.nz});
  f.works({4, p.grid.nx, p.grid.ny, p.grid.nz});
}

void cuts(Cuts&, JacobianParameters&) {}

}  // namespace warploom::imaging
