// imaging.curvature: div(grad u / |grad u|) of an image or a volume, the paper's Curvature2D and Curvature3D.
#pragma once
#include <cstdint>

#include "cuda/core/declare.h"
#include "cuda/core/report.h"
#include "cuda/core/types.h"
#include "cuda/imaging/grid.h"

namespace warploom::imaging {

/// How to compute it; all variants give the same bits. `direct`: one thread per point, everything from memory. `tile`:
/// blocks hold a tile in shared memory. `march`: lanes hold a patch in registers and march through the planes, and each
/// face's flux is computed once (one component, or uncoupled ones). `tile` and `march` take points equally far
/// apart. The cpu backend accepts `auto`, `direct` and `march`.
enum class CurvatureVariant : int32_t { automatic = 0, direct = 1, tile = 2, march = 3 };
inline constexpr const char* kCurvatureVariantNames[] = {"auto", "direct", "tile", "march"};

struct CurvatureReport {
  CurvatureVariant variant = CurvatureVariant::automatic;  ///< the one that ran
};

template <class Visitor, class Parameters>
void visit(Visitor& v, CurvatureReport& r, const Parameters&) {
  v.choice("variant", r.variant, kCurvatureVariantNames);
}

/// Layout as in Grid. curvature_point.h defines the fluxes between neighbours, and the gradient norms used there.
struct CurvatureParameters {
  ScalarType type = ScalarType::float32;  ///< float32 or float64
  Grid grid;
  Spacing spacing;      ///< differences are divided by distances, in units of the smallest
  int64_t channels = 1;
  bool coupled = true;  ///< one norm over all components; false: each component separately
  double eps = 1e-4;    ///< added to the squared norm, in units of the squared pixel values
  CurvatureVariant variant = CurvatureVariant::automatic;
  View image, result;      ///< channels * points elements; must not overlap
  CurvatureReport* report = nullptr;
};

template <class Visitor>
void visit(Visitor& v, CurvatureParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  visit_grid(v, p.grid);
  visit_spacing(v, p.spacing);
  v.integer("channels", p.channels, between(1, kMostComponents));
  v.boolean("coupled", p.coupled);
  v.real("eps", p.eps, between(kLeastEps, kMostEps));
  v.choice("variant", p.variant, kCurvatureVariantNames);
  v.view("image", p.image, Role::input);
  v.view("result", p.result, Role::output);
  v.report(p.report, p);
}

Status check(const CurvatureParameters& p);

}  // namespace warploom::imaging
