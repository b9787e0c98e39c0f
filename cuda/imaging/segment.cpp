#include "cuda/core/check.h"
#include "cuda/imaging/segment.h"

#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"

namespace warploom::imaging {
namespace {

Status check_between(double value, double least, double most, const char* name) {
  if (value >= least && value <= most) return {};
  return invalid(name, "expected " + std::to_string(least) + " to " + std::to_string(most) + ", got " + std::to_string(value));
}

Status check_initial(const SegmentParameters& p, int64_t points) {
  switch (p.initial) {
    case Initial::given: return check_adjacent("given", p.given, points);
    case Initial::checkerboard: return check_between(p.square, 1e-3, 1e9, "square");
    case Initial::ball: return check_positive(p.radius, "radius");
    default: return {};
  }
}

}  // namespace

Status check(const SegmentParameters& p) {
  WARPLOOM_TRY(check_fields(p));
  WARPLOOM_TRY(check_real_type(p.type));
  WARPLOOM_TRY(check(p.grid));
  const int64_t points = points_of(p.grid);
  if (points > kMostPoints / p.channels) return invalid("channels", "width * height * depth * channels is too large");
  WARPLOOM_TRY(check_initial(p, points));
  WARPLOOM_TRY(check_adjacent("image", p.image, p.channels * points));
  WARPLOOM_TRY(check_adjacent("levelSet", p.level_set, points));
  WARPLOOM_TRY(check_apart("image", p.image, "levelSet", p.level_set, p.type));
  if (p.weights.data != nullptr || p.weights.length != 0) WARPLOOM_TRY(check_length(p.weights, p.channels, "weights"));
  if (p.mask.data != nullptr || p.mask.length != 0) WARPLOOM_TRY(check_length(p.mask, points, "mask"));
  return {};
}

void footprint(Footprint&, const SegmentParameters&) {}

void cuts(Cuts&, SegmentParameters&) {}

}  // namespace warploom::imaging
