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
  WARPLOOM_TRY(check_fields(p));
  WARPLOOM_TRY(check_choices(p));
  WARPLOOM_TRY(check(p.grid));
  const int64_t count = points_of(p.grid) * p.channels;
  WARPLOOM_TRY(check_adjacent("image", p.image, count));
  WARPLOOM_TRY(check_adjacent("result", p.result, count));
  return check_apart("image", p.image, "result", p.result, p.type);
}

void footprint(Footprint&, const DenoiseParameters&) {}

void cuts(Cuts&, DenoiseParameters&) {}

}  // namespace warploom::imaging
