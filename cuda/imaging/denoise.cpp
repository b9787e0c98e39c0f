#include "cuda/core/check.h"
#include "cuda/imaging/denoise.h"

#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"

namespace warploom::imaging {
namespace {

Status check_choices(const DenoiseParameters& p) {
  WARPLOOM_TRY(check_real_type(p.type));
  if (p.noise == NoiseKind::impulse && p.method == DenoiseMethod::flow) return invalid("noise", "the flow takes gaussian noise only");
  if (p.noise == NoiseKind::impulse && p.weight == 0) return invalid("weight", "impulse noise needs a weight");
  if (p.weight == 0 && p.method == DenoiseMethod::flow) return invalid("weight", "the flow needs a weight");
  if (p.weight != 0 && p.sigma != 0) return invalid("sigma", "give weight or sigma, not both");
  return {};
}

}  // namespace

Status check(const DenoiseParameters& p) {
  WARPLOOM_TRY(check_ranges(p));
  WARPLOOM_TRY(check_choices(p));
  WARPLOOM_TRY(check(p.grid));
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
