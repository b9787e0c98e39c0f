#include "cuda/core/check.h"
#include "cuda/imaging/denoise.h"

#include <cmath>

#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"
#include "cuda/imaging/curvature.h"

namespace warploom::imaging {
namespace {

Status check_choices(const DenoiseParameters& p) {
  WARPLOOM_TRY(check_real_type(p.type));
  if (static_cast<uint32_t>(p.method) > 1) return invalid("method", "unknown method");
  if (static_cast<uint32_t>(p.noise) > 1) return invalid("noise", "unknown noise");
  if (static_cast<uint32_t>(p.variant) > 2) return invalid("variant", "unknown variant");
  if (p.noise == NoiseKind::impulse && p.method == DenoiseMethod::flow) return invalid("noise", "the flow takes gaussian noise only");
  if (p.noise == NoiseKind::impulse && p.weight == 0) return invalid("weight", "impulse noise needs a weight");
  if (p.weight == 0 && p.method == DenoiseMethod::flow) return invalid("weight", "the flow needs a weight");
  if (p.weight != 0 && p.sigma != 0) return invalid("sigma", "give weight or sigma, not both");
  return {};
}

Status check_reports(const DenoiseParameters& p) {
  if (p.history.data != nullptr) WARPLOOM_TRY(check_length(p.history, most_checks(p) * kHistoryWords, "history"));
  if (p.figures.data != nullptr) WARPLOOM_TRY(check_length(p.figures, kDenoiseFigures, "figures"));
  if (p.used.data != nullptr) WARPLOOM_TRY(check_length(p.used, kDenoiseWords, "used"));
  return {};
}

}  // namespace

Status check(const DenoiseParameters& p) {
  WARPLOOM_TRY(check_choices(p));
  WARPLOOM_TRY(check(p.grid));
  WARPLOOM_TRY(check_whole(p.channels, 1, kMostComponents, "channels"));
  if (p.weight != 0) WARPLOOM_TRY(check_positive(p.weight, "weight"));
  if (p.sigma != 0) WARPLOOM_TRY(check_positive(p.sigma, "sigma"));
  if (!(p.eps >= kLeastEps && p.eps <= kMostEps)) return invalid("eps", "expected 1e-30 to 1e30, got " + std::to_string(p.eps));
  if (p.dt != 0) WARPLOOM_TRY(check_positive(p.dt, "dt"));
  if (!(p.tolerance >= 0) || !std::isfinite(p.tolerance)) return invalid("tolerance", "expected zero or a positive finite number");
  WARPLOOM_TRY(check_whole(p.iterations, 1, kMostDenoiseIterations, "iterations"));
  WARPLOOM_TRY(check_whole(p.check_every, 1, kMostCheckEvery, "checkEvery"));
  WARPLOOM_TRY(check_reports(p));
  const int64_t count = points_of(p.grid) * p.channels;
  WARPLOOM_TRY(check_adjacent(p.image, count, "image"));
  WARPLOOM_TRY(check_adjacent(p.result, count, "result"));
  if (overlap(p.image, count, p.result, count, p.type)) return invalid("result", "overlaps image");
  return {};
}

void footprint(Footprint& f, const DenoiseParameters& p) {
  f.writes(p.result, {p.channels, p.grid.nx, p.grid.ny, p.grid.nz});
}

void cuts(Cuts&, DenoiseParameters&) {}

}  // namespace warploom::imaging
