#include "cuda/imaging/warp.h"

#include "cuda/core/check.h"
#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"

namespace warploom::imaging {

Status check_small(const Grid& grid, int64_t channels) {
  WARPLOOM_TRY(check(grid));
  if (points_of(grid) > kMostSmallPoints) return invalid("depth", "registration takes fewer than 2^31 points");
  if (channels > kMostPoints / points_of(grid)) return invalid("channels", "channels * points is too large");
  return {};
}

Status check(const WarpParameters& p) {
  WARPLOOM_TRY(check_fields(p));
  WARPLOOM_TRY(check_real_type(p.type));
  WARPLOOM_TRY(check_small(p.grid, p.channels));
  if (p.relative && p.count != points_of(p.grid)) return invalid("count", "expected the points of the grid");
  if (p.channels > kMostPoints / (p.count + 1)) return invalid("channels", "channels * count is too large");
  const int64_t inputs = p.channels * points_of(p.grid), tuples = dimensions_of(p.grid) * p.count, results = p.channels * p.count;
  WARPLOOM_TRY(check_adjacent("image", p.image, inputs));
  WARPLOOM_TRY(check_adjacent("positions", p.positions, tuples));
  WARPLOOM_TRY(check_adjacent("result", p.result, results));
  WARPLOOM_TRY(check_apart("image", p.image, "result", p.result, p.type));
  return check_apart("positions", p.positions, "result", p.result, p.type);
}

void footprint(Footprint& f, const WarpParameters& p) {
  f.works({8, p.channels, p.count});
}

void cuts(Cuts&, WarpParameters&) {}

}  // namespace warploom::imaging
