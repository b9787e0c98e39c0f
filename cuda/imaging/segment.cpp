#include "cuda/core/check.h"
#include "cuda/imaging/segment.h"

#include <cmath>

#include "cuda/core/cuts.h"
#include "cuda/core/footprint.h"

namespace warploom::imaging {
namespace {

Status check_between(double value, double least, double most, const char* name) {
  if (value >= least && value <= most) return {};
  return invalid(name, "expected " + std::to_string(least) + " to " + std::to_string(most) + ", got " + std::to_string(value));
}

Status check_weight(double value, const char* name) { return check_between(value, 0, 1e6, name); }

Status check_coefficients(const SegmentParameters& p) {
  WARPLOOM_TRY(check_weight(p.mu, "mu"));
  WARPLOOM_TRY(check_between(p.nu, -1e6, 1e6, "nu"));
  WARPLOOM_TRY(check_weight(p.lambda1, "lambda1"));
  WARPLOOM_TRY(check_weight(p.lambda2, "lambda2"));
  WARPLOOM_TRY(check_between(p.epsilon, 1e-3, 1e3, "epsilon"));
  if (!(p.eta >= 1e-30 && p.eta <= 1)) return invalid("eta", "expected 1e-30 to 1");
  WARPLOOM_TRY(check_between(p.dt, 1e-6, 1e6, "dt"));
  WARPLOOM_TRY(check_between(p.tolerance, 0, 1e6, "tolerance"));
  WARPLOOM_TRY(check_whole(p.iterations, 0, kMostSegmentSteps, "iterations"));
  WARPLOOM_TRY(check_whole(p.energy_every, 0, kMostSegmentSteps, "energyEvery"));
  WARPLOOM_TRY(check_whole(p.reinitialize_every, 0, kMostSegmentSteps, "reinitializeEvery"));
  return check_whole(p.reinitialize_steps, 1, 1000, "reinitializeSteps");
}

Status check_initial(const SegmentParameters& p, int64_t points) {
  switch (p.initial) {
    case Initial::given: return check_adjacent(p.given, points, "given");
    case Initial::checkerboard: return check_between(p.square, 1e-3, 1e9, "square");
    case Initial::ball: WARPLOOM_TRY(check_positive(p.radius, "radius")); break;
    default:
      for (const double corner : p.high) {
        if (!std::isfinite(corner)) return invalid("x1", "expected finite corners");
      }
  }
  for (const double corner : p.low) {
    if (!std::isfinite(corner)) return invalid("x0", "expected a finite corner or centre");
  }
  return {};
}

}  // namespace

Status check(const SegmentParameters& p) {
  WARPLOOM_TRY(check_real_type(p.type));
  WARPLOOM_TRY(check(p.grid));
  WARPLOOM_TRY(check_whole(p.channels, 1, kMostSegmentChannels, "channels"));
  const int64_t points = points_of(p.grid);
  if (points > kMostPoints / p.channels) return invalid("channels", "width * height * depth * channels is too large");
  WARPLOOM_TRY(check_coefficients(p));
  WARPLOOM_TRY(check_initial(p, points));
  WARPLOOM_TRY(check_adjacent(p.image, p.channels * points, "image"));
  WARPLOOM_TRY(check_adjacent(p.level_set, points, "levelSet"));
  if (overlap(p.level_set, points, p.image, p.channels * points, p.type)) return invalid("levelSet", "overlaps the image");
  if (p.weights.data != nullptr || p.weights.length != 0) WARPLOOM_TRY(check_length(p.weights, p.channels, "weights"));
  if (p.mask.data != nullptr || p.mask.length != 0) WARPLOOM_TRY(check_length(p.mask, points, "mask"));
  WARPLOOM_TRY(check_length(p.means, 2 * p.channels, "means"));
  WARPLOOM_TRY(check_length(p.record, kSegmentRecordWords * most_records(p), "record"));
  WARPLOOM_TRY(check_length(p.figures, kSegmentFigures, "figures"));
  return check_length(p.used, kSegmentUsedWords, "used");
}

void footprint(Footprint& f, const SegmentParameters& p) {
  f.writes(p.level_set, {p.grid.nx, p.grid.ny, p.grid.nz});
  f.writes(p.mask, {p.grid.nx, p.grid.ny, p.grid.nz});
}

void cuts(Cuts&, SegmentParameters&) {}

}  // namespace warploom::imaging
