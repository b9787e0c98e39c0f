#include "cuda/core/check.h"
#include "cuda/imaging/curvature.h"

#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"

namespace warploom::imaging {

Status check(const CurvatureParameters& p) {
  WARPLOOM_TRY(check_ranges(p));
  WARPLOOM_TRY(check_real_type(p.type));
  WARPLOOM_TRY(check(p.grid));
  const int64_t count = points_of(p.grid) * p.channels;
  WARPLOOM_TRY(check_adjacent(p.image, count, "image"));
  WARPLOOM_TRY(check_adjacent(p.result, count, "result"));
  if (overlap(p.image, count, p.result, count, p.type)) return invalid("result", "overlaps image");
  return {};
}

void footprint(Footprint& f, const CurvatureParameters& p) {
  f.writes(p.result, {p.channels, p.grid.nx, p.grid.ny, p.grid.nz});
  f.works({4, p.channels, p.grid.nx, p.grid.ny, p.grid.nz});
}

void cuts(Cuts&, CurvatureParameters&) {}

}  // namespace warploom::imaging
