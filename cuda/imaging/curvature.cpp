#include "cuda/core/check.h"
#include "cuda/imaging/curvature.h"

#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"

namespace warploom::imaging {

Status check(const CurvatureParameters& p) {
  WARPLOOM_TRY(check_fields(p));
  WARPLOOM_TRY(check_real_type(p.type));
  WARPLOOM_TRY(check(p.grid));
  const int64_t count = points_of(p.grid) * p.channels;
  WARPLOOM_TRY(check_adjacent("image", p.image, count));
  WARPLOOM_TRY(check_adjacent("result", p.result, count));
  return check_apart("image", p.image, "result", p.result, p.type);
}

void footprint(Footprint& f, const CurvatureParameters& p) {
  f.works({4, p.channels, p.grid.nx, p.grid.ny, p.grid.nz});
}

void cuts(Cuts&, CurvatureParameters&) {}

}  // namespace warploom::imaging
