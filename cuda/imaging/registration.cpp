#include "cuda/imaging/registration.h"

#include "cuda/core/check.h"
#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"

namespace warploom::imaging {

Status check(const RegistrationParameters& p) {
  WARPLOOM_TRY(check_fields(p));
  WARPLOOM_TRY(check_real_type(p.type));
  WARPLOOM_TRY(check_small(p.grid, p.channels));
  const int64_t points = points_of(p.grid), count = dimensions_of(p.grid) * points;
  WARPLOOM_TRY(check_adjacent("reference", p.reference, p.channels * points));
  WARPLOOM_TRY(check_adjacent("template", p.image, p.channels * points));
  if (p.initial.data != nullptr) WARPLOOM_TRY(check_adjacent("initial", p.initial, count));
  WARPLOOM_TRY(check_adjacent("result", p.result, count));
  WARPLOOM_TRY(check_apart("reference", p.reference, "result", p.result, p.type));
  WARPLOOM_TRY(check_apart("template", p.image, "result", p.result, p.type));
  return check_apart("initial", p.initial, "result", p.result, p.type);
}

void footprint(Footprint&, const RegistrationParameters&) {}

void cuts(Cuts&, RegistrationParameters&) {}

}  // namespace warploom::imaging
