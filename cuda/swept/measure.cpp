#include "cuda/swept/measure.h"

#include "cuda/core/check.h"
#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"

namespace warploom::swept {

Status check(const MeasureParameters& p) {
  WARPLOOM_TRY(check_fields(p));
  WARPLOOM_TRY(check_real_type(p.type));
  if (p.rows > (INT64_MAX / 64) / p.n) return invalid("rows", "rows * n is too large");
  return check_adjacent("state", p.state, p.rows * p.n);
}

void footprint(Footprint& f, const MeasureParameters& p) {
  f.works({p.rows, p.n});
}

void cuts(Cuts&, MeasureParameters&) {}

}  // namespace warploom::swept
