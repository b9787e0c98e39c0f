#include "cuda/imaging/registration.h"

#include <cmath>
#include <string>

#include "cuda/core/check.h"
#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"
#include "cuda/imaging/cosine.h"

namespace warploom::imaging {
namespace {

Status check_not_negative(double value, const char* name) {
  if (std::isfinite(value) && value >= 0) return {};
  return invalid(name, "expected zero or a positive finite number, got " + std::to_string(value));
}

Status check_settings(const RegistrationParameters& p) {
  WARPLOOM_TRY(check_real_type(p.type));
  if (static_cast<uint32_t>(p.variant) > 1) return invalid("variant", "unknown variant");
  if (static_cast<uint32_t>(p.measure) > 1) return invalid("measure", "unknown measure");
  WARPLOOM_TRY(check_positive(p.alpha, "alpha"));
  WARPLOOM_TRY(check_not_negative(p.step, "step"));
  WARPLOOM_TRY(check_positive(p.step_scale, "stepScale"));
  WARPLOOM_TRY(check_not_negative(p.tolerance, "tolerance"));
  return check_whole(p.iterations, 0, kMostRegistrationIterations, "iterations");
}

}  // namespace

Status check(const RegistrationParameters& p) {
  WARPLOOM_TRY(check_settings(p));
  WARPLOOM_TRY(check_small(p.grid, 1));
  WARPLOOM_TRY(check_lines(p.grid));
  const int64_t points = points_of(p.grid), count = dimensions_of(p.grid) * points;
  WARPLOOM_TRY(check_adjacent(p.reference, points, "reference"));
  WARPLOOM_TRY(check_adjacent(p.image, points, "template"));
  if (p.initial.data != nullptr) WARPLOOM_TRY(check_adjacent(p.initial, count, "initial"));
  WARPLOOM_TRY(check_adjacent(p.result, count, "result"));
  if (overlap(p.reference, points, p.result, count, p.type)) return invalid("result", "overlaps reference");
  if (overlap(p.image, points, p.result, count, p.type)) return invalid("result", "overlaps template");
  if (overlap(p.initial, count, p.result, count, p.type)) return invalid("result", "overlaps initial");
  WARPLOOM_TRY(check_length(p.history, p.iterations + 1, "history"));
  return check_length(p.figures, kRegistrationFigures, "figures");
}

void footprint(Footprint& f, const RegistrationParameters& p) {
  f.writes(p.result, {dimensions_of(p.grid), p.grid.nx, p.grid.ny, p.grid.nz});
}

void cuts(Cuts&, RegistrationParameters&) {}

}  // namespace warploom::imaging
