#include "cuda/core/check.h"
#include "cuda/imaging/curvature.h"

#include <cmath>

#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"

namespace warploom::imaging {

Status check(const CurvatureParameters& p) {
  WARPLOOM_TRY(check_real_type(p.type));
  WARPLOOM_TRY(check(p.grid));
  WARPLOOM_TRY(check_whole(p.channels, 1, kMostComponents, "channels"));
  if (!(p.eps >= kLeastEps && p.eps <= kMostEps)) return invalid("eps", "expected 1e-30 to 1e30, got " + std::to_string(p.eps));
  if (static_cast<uint32_t>(p.variant) > 3) return invalid("variant", "unknown variant");
  if (p.used.data != nullptr && p.used.length < 1) return invalid("used", "expected at least 1 word");
  const int64_t count = points_of(p.grid) * p.channels;
  WARPLOOM_TRY(check_adjacent(p.image, count, "image"));
  WARPLOOM_TRY(check_adjacent(p.result, count, "result"));
  if (overlap(p.image, count, p.result, count, p.type)) return invalid("result", "overlaps image");
  return {};
}

void footprint(Footprint& f, const CurvatureParameters& p) {
  f.writes(p.result, {p.channels, p.grid.nx, p.grid.ny, p.grid.nz});
  f.works({4, p.channels, p.grid.nx, p.grid.ny, p.grid.nz});
}

void cuts(Cuts&, CurvatureParameters&) {}

}  // namespace warploom::imaging
