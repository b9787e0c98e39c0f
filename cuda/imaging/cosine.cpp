#include "cuda/imaging/cosine.h"

#include "cuda/core/check.h"
#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"

namespace warploom::imaging {

Status check(const CosineParameters& p) {
  WARPLOOM_TRY(check_fields(p));
  WARPLOOM_TRY(check_real_type(p.type));
  WARPLOOM_TRY(check(p.grid));
  if (p.channels > kMostPoints / points_of(p.grid)) return invalid("channels", "channels * points is too large");
  const int64_t count = p.channels * points_of(p.grid);
  WARPLOOM_TRY(check_adjacent("values", p.values, count));
  WARPLOOM_TRY(check_adjacent("result", p.result, count));
  return check_apart("values", p.values, "result", p.result, p.type);
}

void footprint(Footprint&, const CosineParameters&) {}

void cuts(Cuts&, CosineParameters&) {}

}  // namespace warploom::imaging
