// imaging.segment: active contours without edges (Chan and Vese 2001), a level set that divides an image into two regions.
#pragma once
#include <cstdint>

#include "cuda/core/declare.h"
#include "cuda/core/types.h"
#include "cuda/imaging/grid.h"

namespace warploom::imaging {

/// What the level set is at the start. `ball`: radius - distance from the centre; `box`: distance to its nearest side, negative
/// outside (of the nearest violated side); `checkerboard`: product of sin(pi x / square) over the axes.
enum class Initial : int32_t { given = 0, checkerboard = 1, ball = 2, box = 3 };
inline constexpr const char* kInitialNames[] = {"given", "checkerboard", "ball", "box"};

/// The step: `semi-implicit` takes the point's own value in the curvature from the new level set (Getreuer 2012), `explicit` the old
/// one, with the step of a point cut to where it is stable.
enum class StepKind : int32_t { semi_implicit = 0, explicit_ = 1 };
inline constexpr const char* kStepKindNames[] = {"semi-implicit", "explicit"};

/// How the steps are carried out; all give the same bits. `direct`: a thread per point; `march`: warps march over rows that they hold in
/// registers (two-dimensional images of one channel); `cpu`: what the cpu backend does.
enum class SegmentVariant : int32_t { automatic = 0, direct = 1, march = 2, cpu = 3 };
inline constexpr const char* kSegmentVariantNames[] = {"auto", "direct", "march", "cpu"};

inline constexpr int64_t kMostSegmentChannels = 256;
inline constexpr int64_t kMostSegmentSteps = int64_t{1} << 24;
inline constexpr int kSegmentUsedWords = 4, kSegmentFigures = 4, kSegmentRecordWords = 2;

/// Minimises mu * length of the contour + nu * area inside + sum over the channels of
/// weight * (lambda1 * variance inside + lambda2 * variance outside); inside is where the level set is positive.
struct SegmentParameters {
  ScalarType type = ScalarType::float32;  ///< float32 or float64, of image and level set
  Grid grid;
  int64_t channels = 1;
  SegmentVariant variant = SegmentVariant::automatic;
  StepKind step = StepKind::semi_implicit;
  Initial initial = Initial::checkerboard;
  double square = 5;                    ///< checkerboard: side of a square, points
  double low[3] = {0, 0, 0};            ///< box: least corner; ball: centre
  double high[3] = {0, 0, 0};           ///< box: greatest corner
  double radius = 1;                    ///< ball
  bool normalize = true;                ///< values count in units of (greatest - least)
  double mu = 0.25, nu = 0, lambda1 = 1, lambda2 = 1;
  double epsilon = 1;                   ///< width of the smoothed delta: epsilon / (epsilon^2 + phi^2)
  double eta = 1e-16;                   ///< added to squared gradients
  double dt = 0.5;
  double tolerance = 1e-3;              ///< of the root mean square of a step; 0: all iterations are made
  int64_t iterations = 500;             ///< at most
  int64_t energy_every = 0;             ///< steps between entries of `record`; 0: none but the first and the last
  int64_t reinitialize_every = 0;       ///< steps between reinitialisations to a distance function; 0: none
  int64_t reinitialize_steps = 10;      ///< of each
  View image;                           ///< channels * points. Points with a value that is not finite have no data.
  View given;                           ///< initial level set, where `initial` is given
  View level_set;                       ///< result; may be `given`
  Array<double> weights;                ///< of the channels; absent: 1
  Array<uint8_t> mask;                  ///< 1 inside, 0 outside; absent: not wanted
  Array<double> means;                  ///< report: of the channels inside, then outside
  Array<double> record;                 ///< report: pairs (iteration, energy), most_records() of them
  Array<double> figures;                ///< report: energy, root mean square of the last step, points inside, points with data
  Array<int32_t> used;                  ///< report: variant, iterations, whether it converged, entries of `record`
};

template <class Visitor>
void visit(Visitor& v, SegmentParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  visit_grid(v, p.grid);
  v.integer("channels", p.channels);
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
  v.real("mu", p.mu);
  v.real("nu", p.nu);
  v.real("lambda1", p.lambda1);
  v.real("lambda2", p.lambda2);
  v.real("epsilon", p.epsilon);
  v.real("eta", p.eta);
  v.real("dt", p.dt);
  v.real("tolerance", p.tolerance);
  v.integer("iterations", p.iterations);
  v.integer("energyEvery", p.energy_every);
  v.integer("reinitializeEvery", p.reinitialize_every);
  v.integer("reinitializeSteps", p.reinitialize_steps);
  v.view("image", p.image, Role::input);
  v.view("given", p.given, Role::input);
  v.view("levelSet", p.level_set, Role::output);
  v.array("weights", p.weights, Role::input);
  v.array("mask", p.mask, Role::output);
  v.array("means", p.means, Role::report);
  v.array("record", p.record, Role::report);
  v.array("figures", p.figures, Role::report);
  v.array("used", p.used, Role::report);
}

Status check(const SegmentParameters& p);

/// Entries that `record` has room for: the first and the last energy, and those between.
inline int64_t most_records(const SegmentParameters& p) {
  return 2 + (p.energy_every > 0 ? p.iterations / p.energy_every : 0);
}

}  // namespace warploom::imaging
