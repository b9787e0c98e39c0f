#include "cuda/swept/measure.h"

#include "cuda/core/check.h"
#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"

namespace warploom::swept {

Status check(const MeasureParameters& p) {
  WARPLOOM_TRY(check_real_type(p.type));
  if (p.n < 1) return invalid("n", "expected at least 1, got " + std::to_string(p.n));
  if (p.rows < 0) return invalid("rows", "expected zero or more, got " + std::to_string(p.rows));
  if (p.rows > (INT64_MAX / 64) / p.n) return invalid("rows", "rows * n is too large");
  WARPLOOM_TRY(check_length(p.figures, p.rows * kFigures, "figures"));
  return check_adjacent(p.state, p.rows * p.n, "state");
}

void footprint(Footprint& f, const MeasureParameters& p) {
  f.writes(p.figures, {p.rows, kFigures});
  f.works({p.rows, p.n});
}

void cuts(Cuts&, MeasureParameters&) {}

}  // namespace warploom::swept
