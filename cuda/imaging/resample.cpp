#include "cuda/imaging/resample.h"

#include "cuda/core/check.h"
#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"
#include "cuda/imaging/warp.h"

namespace warploom::imaging {

Status check(const ResampleParameters& p) {
  WARPLOOM_TRY(check_ranges(p));
  WARPLOOM_TRY(check_real_type(p.type));
  WARPLOOM_TRY(check_small(p.grid, p.channels));
  const int64_t fine = p.channels * points_of(p.grid), coarse = p.channels * points_of(coarse_grid(p));
  const int64_t values = p.up ? coarse : fine, results = p.up ? fine : coarse;
  WARPLOOM_TRY(check_adjacent(p.values, values, "values"));
  WARPLOOM_TRY(check_adjacent(p.result, results, "result"));
  if (overlap(p.values, values, p.result, results, p.type)) return invalid("result", "overlaps values");
  return {};
}

void footprint(Footprint& f, const ResampleParameters& p) {
  const Grid to = p.up ? p.grid : coarse_grid(p);
  f.writes(p.result, {p.channels, to.nx, to.ny, to.nz});
  f.works({4, p.channels, p.grid.nx, p.grid.ny, p.grid.nz});
}

void cuts(Cuts&, ResampleParameters&) {}

}  // namespace warploom::imaging
