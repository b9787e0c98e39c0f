#include "cuda/imaging/resample.h"

#include "cuda/core/check.h"
#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"
#include "cuda/imaging/warp.h"

namespace warploom::imaging {

Status check(const ResampleParameters& p) {
  WARPLOOM_TRY(check_fields(p));
  WARPLOOM_TRY(check_real_type(p.type));
  WARPLOOM_TRY(check_small(p.grid, p.channels));
  const int64_t fine = p.channels * points_of(p.grid), coarse = p.channels * points_of(coarse_grid(p));
  const int64_t values = p.up ? coarse : fine, results = p.up ? fine : coarse;
  WARPLOOM_TRY(check_adjacent("values", p.values, values));
  WARPLOOM_TRY(check_adjacent("result", p.result, results));
  return check_apart("values", p.values, "result", p.result, p.type);
}

void footprint(Footprint& f, const ResampleParameters& p) {
  f.works({4, p.channels, p.grid.nx, p.grid.ny, p.grid.nz});
}

void cuts(Cuts&, ResampleParameters&) {}

}  // namespace warploom::imaging
