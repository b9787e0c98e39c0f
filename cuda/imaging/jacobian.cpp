#include "cuda/imaging/jacobian.h"

#include "cuda/core/check.h"
#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"
#include "cuda/imaging/warp.h"

namespace warploom::imaging {

Status check(const JacobianParameters& p) {
  WARPLOOM_TRY(check_fields(p));
  WARPLOOM_TRY(check_real_type(p.type));
  WARPLOOM_TRY(check_small(p.grid, 1));
  const int64_t points = points_of(p.grid), count = dimensions_of(p.grid) * points;
  WARPLOOM_TRY(check_adjacent("displacement", p.displacement, count));
  if (p.result.data != nullptr) WARPLOOM_TRY(check_adjacent("result", p.result, points));
  return check_apart("displacement", p.displacement, "result", p.result, p.type);
}

void footprint(Footprint& f, const JacobianParameters& p) {
  f.works({4, p.grid.nx, p.grid.ny, p.grid.nz});
}

void cuts(Cuts&, JacobianParameters&) {}

}  // namespace warploom::imaging
