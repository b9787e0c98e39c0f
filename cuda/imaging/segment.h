// imaging.segment: active contours without edges (Chan and Vese 2001), a level set that divides an image into two
// regions.
#pragma once
#include <cstdint>

#include "cuda/core/declare.h"
#include "cuda/core/report.h"
#include "cuda/core/types.h"
#include "cuda/imaging/grid.h"

namespace warploom::imaging {

/// The initial level set. `ball`: radius - distance from the centre. `box`: distance to the nearest side, negative
/// outside (for the nearest violated side). `checkerboard`: product of sin(pi x / square) over the axes.
enum class Initial : int32_t { given = 0, checkerboard = 1, ball = 2, box = 3 };
inline constexpr const char* kInitialNames[] = {"given", "checkerboard", "ball", "box"};

/// The step: in the curvature, `semi-implicit` uses the point's own value from the new level set (Getreuer 2012),
/// `explicit` uses the old one. An explicit step is limited at each point to keep it stable.
enum class StepKind : int32_t { semi_implicit = 0, explicit_ = 1 };
inline constexpr const char* kStepKindNames[] = {"semi-implicit", "explicit"};

/// How to compute the steps; all variants give the same bits. `direct`: one thread per point. `march`: warps march over
/// rows that they hold in registers (two-dimensional images of one channel, points equally far apart). `cpu`: the cpu backend's variant.
enum class SegmentVariant : int32_t { automatic = 0, direct = 1, march = 2, cpu = 3 };
inline constexpr const char* kSegmentVariantNames[] = {"auto", "direct", "march", "cpu"};

inline constexpr int64_t kMostSegmentChannels = 256;
inline constexpr int64_t kMostSegmentSteps = int64_t{1} << 24;

/// The means of a channel in the two regions.
struct RegionMeans {
  double inside, outside;
};

template <class Visitor>
void visit(Visitor& v, RegionMeans& m) {
  v.real("inside", m.inside);
  v.real("outside", m.outside);
}

struct SegmentEntry {
  double iteration, energy;
};

template <class Visitor>
void visit(Visitor& v, SegmentEntry& e) {
  v.real("iteration", e.iteration);
  v.real("energy", e.energy);
}

struct SegmentReport {
  SegmentVariant variant = SegmentVariant::automatic;  ///< the one that ran
  int64_t iterations = 0;
  bool converged = false;
  double energy = 0;
  double change = 0;            ///< root mean square of the last step
  int64_t inside = 0;           ///< points
  int64_t valid = 0;            ///< points with data
  Table<RegionMeans> means;     ///< of the channels
  Table<SegmentEntry> history;  ///< of the energy
};

/// Minimises mu * length of the contour + nu * area inside + sum over the channels of weight * (lambda1 * variance
/// inside + lambda2 * variance outside). Inside is where the level set is positive.
struct SegmentParameters {
  ScalarType type = ScalarType::float32;  ///< float32 or float64, of image and level set
  Grid grid;
  Spacing spacing;                      ///< lengths are measured in units of the smallest
  int64_t channels = 1;
  SegmentVariant variant = SegmentVariant::automatic;
  StepKind step = StepKind::semi_implicit;
  Initial initial = Initial::checkerboard;
  double square = 5;                    ///< checkerboard: side of a square, units of length
  double low[3] = {0, 0, 0};            ///< box: lowest corner; ball: centre
  double high[3] = {0, 0, 0};           ///< box: highest corner
  double radius = 1;                    ///< ball: units of length; corners and centre are in points
  bool normalize = true;                ///< values are measured in units of (largest - smallest)
  double mu = 0.25, nu = 0, lambda1 = 1, lambda2 = 1;
  double epsilon = 1;                   ///< width of the smoothed delta: epsilon / (epsilon^2 + phi^2)
  double eta = 1e-16;                   ///< added to squared gradients
  double dt = 0.5;
  double tolerance = 1e-3;              ///< for the root mean square of a step; 0: all iterations run
  int64_t iterations = 500;             ///< at most
  int64_t energy_every = 0;             ///< steps between entries of the history; 0: only the first and the last
  int64_t reinitialize_every = 0;       ///< steps between reinitialisations to a distance function; 0: none
  int64_t reinitialize_steps = 10;      ///< per reinitialisation
  View image;                           ///< channels * points; points with a non-finite value have no data
  View given;                           ///< initial level set, if `initial` is given
  View level_set;                       ///< result; may be `given`
  Array<double> weights;                ///< of the channels; absent: 1
  Array<uint8_t> mask;                  ///< 1 inside, 0 outside; absent: not wanted
  SegmentReport* report = nullptr;
};

/// Entries the report's history has room for: the first and the last energy, and those in between.
inline int64_t most_entries(const SegmentParameters& p) {
  return 2 + (p.energy_every > 0 ? p.iterations / p.energy_every : 0);
}

template <class Visitor>
void visit(Visitor& v, SegmentReport& r, const SegmentParameters& p) {
  v.choice("variant", r.variant, kSegmentVariantNames);
  v.integer("iterations", r.iterations);
  v.boolean("converged", r.converged);
  v.real("energy", r.energy);
  v.real("change", r.change);
  v.integer("inside", r.inside);
  v.integer("valid", r.valid);
  v.rows("means", r.means, p.channels, Where::host);
  v.rows("history", r.history, most_entries(p), Where::host);
}

template <class Visitor>
void visit(Visitor& v, SegmentParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  visit_grid(v, p.grid);
  visit_spacing(v, p.spacing);
  v.integer("channels", p.channels, between(1, kMostSegmentChannels));
  v.choice("variant", p.variant, kSegmentVariantNames);
  v.choice("step", p.step, kStepKindNames);
  v.choice("initial", p.initial, kInitialNames);
  v.real("square", p.square);
  v.real("x0", p.low[0]);
  v.real("y0", p.low[1]);
  v.real("z0", p.low[2]);
  v.real("x1", p.high[0]);
  v.real("y1", p.high[1]);
  v.real("z1", p.high[2]);
  v.real("radius", p.radius);
  v.boolean("normalize", p.normalize);
  v.real("mu", p.mu, between(0, 1e6));
  v.real("nu", p.nu, between(-1e6, 1e6));
  v.real("lambda1", p.lambda1, between(0, 1e6));
  v.real("lambda2", p.lambda2, between(0, 1e6));
  v.real("epsilon", p.epsilon, between(1e-3, 1e3));
  v.real("eta", p.eta, between(1e-30, 1));
  v.real("dt", p.dt, between(1e-6, 1e6));
  v.real("tolerance", p.tolerance, between(0, 1e6));
  v.integer("iterations", p.iterations, between(0, kMostSegmentSteps));
  v.integer("energyEvery", p.energy_every, between(0, kMostSegmentSteps));
  v.integer("reinitializeEvery", p.reinitialize_every, between(0, kMostSegmentSteps));
  v.integer("reinitializeSteps", p.reinitialize_steps, between(1, 1000));
  v.view("image", p.image, Role::input);
  v.view("given", p.given, Role::input);
  v.view("levelSet", p.level_set, Role::output);
  v.array("weights", p.weights, Role::input);
  v.array("mask", p.mask, Role::output);
  v.report(p.report, p);
}

Status check(const SegmentParameters& p);

}  // namespace warploom::imaging
