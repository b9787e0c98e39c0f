#include "cuda/imaging/cosine.h"

#include "cuda/core/check.h"
#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"

namespace warploom::imaging {

Status check(const CosineParameters& p) {
  WARPLOOM_TRY(check_ranges(p));
  WARPLOOM_TRY(check_real_type(p.type));
  WARPLOOM_TRY(check(p.grid));
  if (p.channels > kMostPoints / points_of(p.grid)) return invalid("channels", "channels * points is too large");
  const int64_t count = p.channels * points_of(p.grid);
  WARPLOOM_TRY(check_adjacent(p.values, count, "values"));
  WARPLOOM_TRY(check_adjacent(p.result, count, "result"));
  if (overlap(p.values, count, p.result, count, p.type)) return invalid("result", "overlaps values");
  return {};
}

void footprint(Footprint& f, const CosineParameters& p) {
  f.writes(p.result, {p.channels, p.grid.nx, p.grid.ny, p.grid.nz});
}

void cuts(Cuts&, CosineParameters&) {}

}  // namespace warploom::imaging
