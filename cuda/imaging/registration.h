// imaging.registration: curvature registration of two images on one grid, many iterations per call.
#pragma once
#include <cstdint>

#include "cuda/core/declare.h"
#include "cuda/core/report.h"
#include "cuda/core/types.h"
#include "cuda/imaging/cosine_lines.h"
#include "cuda/imaging/grid.h"
#include "cuda/imaging/registration_entry.h"
#include "cuda/imaging/warp.h"

namespace warploom::imaging {

/// How the images are compared: by the sum of squared differences, or by normalised cross-correlation.
enum class Measure : int32_t { ssd = 0, ncc = 1 };
inline constexpr const char* kMeasureNames[] = {"ssd", "ncc"};

/// How to step the gradient flow u_t = -alpha lap^2 u + f(u): with the operator implicit, by cosine transforms, or
/// explicit.
enum class RegistrationVariant : int32_t { semi_implicit = 0, explicit_ = 1 };
inline constexpr const char* kRegistrationVariantNames[] = {"semi-implicit", "explicit"};

inline constexpr int64_t kMostRegistrationIterations = 10'000'000;

struct RegistrationReport {
  int32_t iterations = 0;            ///< iterations done
  bool converged = false;            ///< `tolerance` stopped the iterations
  double step = 0;
  Table<RegistrationEntry> history;  ///< for every iteration, and for the result
};

template <class Visitor, class Parameters>
void visit(Visitor& v, RegistrationReport& r, const Parameters& p) {
  v.integer("iterations", r.iterations);
  v.boolean("converged", r.converged);
  v.real("step", r.step);
  v.rows("history", r.history, p.iterations + 1, Where::host);
}

/// Displacement u in points, one component per axis (2, or 3 if nz > 1), such that template(x + u(x)) matches
/// reference(x). One iteration:
///   semi-implicit  (1 + step alpha A^2) u' = u + step f(u), A diagonal in the cosine transform:
///                  lambda = sum_a 2 - 2 cos(pi k_a / n_a)
///   explicit       u' = u + step (f(u) - alpha A^2 u), A the 5- or 7-point Laplacian with repeated border points
/// With `accelerate` the semi-implicit iteration starts from y = u + b (u - previous u) instead of u. This is
/// Nesterov's extrapolation; the implicit step is the proximal step of the quadratic term. b grows from 0 towards 1,
/// and restarts whenever the measure rises.
/// f is the negative derivative of the measure by the template's value, times the template's gradient at x + u; with
/// ssd it is (reference - template) grad template. With ncc the images are scaled by their deviations, and the
/// derivative's two factors come from the previous iteration. Points with a non-finite residual or force exert no force
/// and are not counted.
/// With several channels the measure is taken over the samples of all of them, and f is the mean of the channels' forces: an image
/// of equal channels moves as one of them does. Samples that are not finite exert no force, and are not counted.
struct RegistrationParameters {
  ScalarType type = ScalarType::float32;  ///< float32 or float64
  Grid grid;                              ///< fewer than 2^31 points, no extent above kLongestLine
  int64_t channels = 1;                   ///< of both images
  Spacing spacing;                        ///< lengths of the regulariser are measured in units of the smallest
  RegistrationVariant variant = RegistrationVariant::semi_implicit;
  Measure measure = Measure::ssd;
  double alpha = 0.1;      ///< weight of the curvature
  double step = 0;         ///< 0: from the template's gradient and `step_scale`
  bool accelerate = true;  ///< semi-implicit only
  double step_scale = 1;   ///< step = step_scale / max |d residual / du|^2; explicit: step_scale / (that + alpha lambda_max^2)
  int64_t iterations = 50;
  double tolerance = 0;    ///< stop if the measure fell by less than this fraction over 10 iterations; 0: never
  View reference, image;   ///< `image` is the template; channels * points
  View initial;            ///< axes * points; absent: zero
  View result;             ///< the displacement after the last iteration: axes * points
  RegistrationReport* report = nullptr;
};

template <class Visitor>
void visit(Visitor& v, RegistrationParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  visit_grid(v, p.grid, kLongestLine);
  v.integer("channels", p.channels, between(1, kMostExtent));
  visit_spacing(v, p.spacing);
  v.choice("variant", p.variant, kRegistrationVariantNames);
  v.choice("measure", p.measure, kMeasureNames);
  v.real("alpha", p.alpha, above(0));
  v.real("step", p.step, at_least(0));
  v.boolean("accelerate", p.accelerate);
  v.real("stepScale", p.step_scale, above(0));
  v.integer("iterations", p.iterations, between(0, kMostRegistrationIterations));
  v.real("tolerance", p.tolerance, at_least(0));
  v.view("reference", p.reference, Role::input);
  v.view("template", p.image, Role::input);
  v.view("initial", p.initial, Role::input);
  v.view("result", p.result, Role::output);
  v.report(p.report, p);
}

/// A bound on the eigenvalues of the Laplacian.
inline double greatest_eigenvalue(const Grid& grid, const Spacing& spacing) {
  const AxisWeights w = weights_of(grid, spacing);
  return 4 * (w.x * w.x + w.y * w.y + (dimensions_of(grid) == 3 ? w.z * w.z : 0));
}

Status check(const RegistrationParameters& p);

}  // namespace warploom::imaging
