// imaging.denoise: total variation denoising after Rudin, Osher and Fatemi, also with the data term for impulse noise.
#pragma once
#include <cstdint>

#include "cuda/core/declare.h"
#include "cuda/core/report.h"
#include "cuda/core/types.h"
#include "cuda/imaging/grid.h"

namespace warploom::imaging {

/// `primal_dual`: Chambolle and Pock, J. Math. Imaging Vision 40 (2011), Algorithms 1 and 2, until a duality gap is
/// reached. `flow`: explicit steps of u' = w K(u) - (u - f) with the curvature K of imaging.curvature.
enum class DenoiseMethod : int32_t { primal_dual = 0, flow = 1 };
inline constexpr const char* kDenoiseMethodNames[] = {"primal-dual", "flow"};
/// The data term of the energy: |u - f|^2 / 2 or |u - f|.
enum class NoiseKind : int32_t { gaussian = 0, impulse = 1 };
inline constexpr const char* kNoiseNames[] = {"gaussian", "impulse"};
/// `direct`: one thread per point, two launches per iteration of primal-dual. `march`: one launch, patches in registers
/// (one component, or uncoupled ones). Both give the same bits. The cpu backend accepts `auto`.
enum class DenoiseVariant : int32_t { automatic = 0, direct = 1, march = 2 };
inline constexpr const char* kDenoiseVariantNames[] = {"auto", "direct", "march"};

inline constexpr int64_t kMostDenoiseIterations = 1000000;
inline constexpr int64_t kMostCheckEvery = 1000;

/// One check: iterations so far, energy per pixel and component, gap / energy (flow: relative decrease).
struct DenoiseEntry {
  double iteration, energy, measure;
};

template <class Visitor>
void visit(Visitor& v, DenoiseEntry& e) {
  v.real("iteration", e.iteration);
  v.real("energy", e.energy);
  v.real("measure", e.measure);
}

struct DenoiseReport {
  DenoiseVariant variant = DenoiseVariant::automatic;  ///< the one that ran
  int64_t iterations = 0;                              ///< over all solutions
  bool converged = false;
  int64_t filled = 0;     ///< pixels
  int64_t solutions = 0;  ///< solutions computed to find the weight
  double weight = 0;
  double sigma = 0;       ///< passed or estimated; 0: neither
  double energy = 0, gap = 0;
  double residual = -1;   ///< root mean square of u - f; -1: unknown
  double dt = 0;          ///< flow
  Table<DenoiseEntry> history;  ///< of the last solution
};

/// Minimises E(u) = w TV(u) + D(u - f). TV is the sum over the points of the norm of the forward differences, over all
/// components together if they are coupled; differences across the border are zero. NoiseKind selects D, which skips
/// pixels that are NaN.
/// Progress: iterations so far and, in place of a total, the energy per pixel and component.
struct DenoiseParameters {
  ScalarType type = ScalarType::float32;
  Grid grid;
  Spacing spacing;       ///< differences are divided by distances, in units of the smallest
  int64_t channels = 1;
  bool coupled = true;
  DenoiseMethod method = DenoiseMethod::primal_dual;
  NoiseKind noise = NoiseKind::gaussian;
  DenoiseVariant variant = DenoiseVariant::automatic;
  double weight = 0;     ///< w; 0: from sigma
  /// Finds w such that the root mean square of u - f is sigma; if both are 0, sigma is estimated.
  double sigma = 0;
  double eps = 1e-4;     ///< flow: for the curvature
  double dt = 0;         ///< flow: step; 0: the stable one
  /// Primal-dual: for gap / energy; flow: for the energy's relative decrease between two checks.
  double tolerance = 1e-4;
  int64_t iterations = 500;  ///< at most, per solution with one weight
  int64_t check_every = 10;  ///< iterations between checks of energy and gap
  bool fill = false;         ///< pixels that are NaN are filled in; otherwise they are refused
  View image, result;
  DenoiseReport* report = nullptr;
};

inline int64_t most_checks(const DenoiseParameters& p) { return (p.iterations + p.check_every - 1) / p.check_every; }

template <class Visitor>
void visit(Visitor& v, DenoiseReport& r, const DenoiseParameters& p) {
  v.choice("variant", r.variant, kDenoiseVariantNames);
  v.integer("iterations", r.iterations);
  v.boolean("converged", r.converged);
  v.integer("filled", r.filled);
  v.integer("solutions", r.solutions);
  v.real("weight", r.weight);
  v.real("sigma", r.sigma);
  v.real("energy", r.energy);
  v.real("gap", r.gap);
  v.real("residual", r.residual);
  v.real("dt", r.dt);
  v.rows("history", r.history, most_checks(p), Where::host);
}

template <class Visitor>
void visit(Visitor& v, DenoiseParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  visit_grid(v, p.grid);
  visit_spacing(v, p.spacing);
  v.integer("channels", p.channels, between(1, kMostComponents));
  v.boolean("coupled", p.coupled);
  v.choice("method", p.method, kDenoiseMethodNames);
  v.choice("noise", p.noise, kNoiseNames);
  v.choice("variant", p.variant, kDenoiseVariantNames);
  v.real("weight", p.weight, at_least(0));
  v.real("sigma", p.sigma, at_least(0));
  v.real("eps", p.eps, between(kLeastEps, kMostEps));
  v.real("dt", p.dt, at_least(0));
  v.real("tolerance", p.tolerance, at_least(0));
  v.integer("iterations", p.iterations, between(1, kMostDenoiseIterations));
  v.integer("checkEvery", p.check_every, between(1, kMostCheckEvery));
  v.boolean("fill", p.fill);
  v.view("image", p.image, Role::input);
  v.view("result", p.result, Role::output);
  v.report(p.report, p);
}

Status check(const DenoiseParameters& p);

}  // namespace warploom::imaging
