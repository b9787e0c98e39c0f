#include "cuda/imaging/registration.h"

#include "cuda/core/check.h"
#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"

namespace warploom::imaging {

Status check(const RegistrationParameters& p) {
  WARPLOOM_TRY(check_ranges(p));
  WARPLOOM_TRY(check_real_type(p.type));
  WARPLOOM_TRY(check_small(p.grid, 1));
  const int64_t points = points_of(p.grid), count = dimensions_of(p.grid) * points;
  WARPLOOM_TRY(check_adjacent(p.reference, points, "reference"));
  WARPLOOM_TRY(check_adjacent(p.image, points, "template"));
  if (p.initial.data != nullptr) WARPLOOM_TRY(check_adjacent(p.initial, count, "initial"));
  WARPLOOM_TRY(check_adjacent(p.result, count, "result"));
  if (overlap(p.reference, points, p.result, count, p.type)) return invalid("result", "overlaps reference");
  if (overlap(p.image, points, p.result, count, p.type)) return invalid("result", "overlaps template");
  if (overlap(p.initial, count, p.result, count, p.type)) return invalid("result", "overlaps initial");
  return {};
}

void footprint(Footprint& f, const RegistrationParameters& p) {
  f.writes(p.result, {dimensions_of(p.grid), p.grid.nx, p.grid.ny, p.grid.nz});
}

void cuts(Cuts&, RegistrationParameters&) {}

}  // namespace warploom::imaging
