// What the equations have in common, and the library's names for choices.
#pragma once
#include <cstdint>

#include "cuda/core/portable.h"

namespace warploom::swept {

enum class Equation : int32_t { heat = 0, kuramoto_sivashinsky = 1, euler = 2 };
inline constexpr const char* kEquationNames[] = {"heat", "kuramoto-sivashinsky", "euler"};

/// What happens at one end of the domain; docs/swept.md has the table of which equation accepts which. `periodic`: both
/// ends joined. `reflective`: mirror; for heat about the end point (no flux), for Euler about the outer face of the end
/// cell (a wall). `dirichlet`: heat and Euler keep the end value unchanged; KS has u = u_xx = 0 (odd about the end
/// point). `outflow`: Euler only; the cells beyond follow the end cell.
enum class Boundary : int32_t { periodic = 0, reflective = 1, dirichlet = 2, outflow = 3 };
inline constexpr const char* kBoundaryNames[] = {"periodic", "reflective", "dirichlet", "outflow"};

/// The limiter of the reconstruction in `euler`. `paper`: the pressure-ratio limiter as printed (eqs. 16 and 17, whose
/// two factors are exchanged compared with minmod); the others limit each conserved variable.
enum class Limiter : int32_t { paper = 0, minmod = 1, van_leer = 2, mc = 3 };
inline constexpr const char* kLimiterNames[] = {"paper", "minmod", "van-leer", "mc"};

/// How to compute the steps. All variants give the same bits.
enum class Variant : int32_t {
  automatic = 0, classic = 1, classic_graph = 2, shared = 3, hybrid = 4, register_ = 5, tiled = 6, cpu_classic = 7, cpu_tiled = 8
};
inline constexpr const char* kVariantNames[] = {
    "auto", "classic", "classic-graph", "shared", "hybrid", "register", "tiled", "cpu-classic", "cpu-tiled"};

/// The variables of one point: T is a number, or a vector of points on the CPU.
template <class T, int kCount>
struct Values {
  T item[kCount];
};

// An equation is a struct of coefficients with
//   Real, kComponents, kReach (points on each side that a sub-step reads), kSubsteps (sub-steps of a time step), Value
//   kFluxes: fluxes through faces, which flux.h computes once for both cells
//   kHeldEnds: some ends of the domain do not follow the equation; kFollowedEnds: places beyond some of these follow
//   them
//   template <int kSubstep> Value next(const Value (&around)[2 * kReach + 1], const Value& base) const
// where `around` holds the state that the sub-step reads, with the point itself in the middle, and `base` is the
// point's value at the beginning of the time step (for sub-step 0, the middle of `around`).
//   Value mirrored(const Value&) const: the value of the point's mirror image.
// next() commutes with mirroring to the bit. Reflective ends rely on this: images evolve like the points they mirror.

}  // namespace warploom::swept
