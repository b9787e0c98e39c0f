// swept.advance: time steps of an explicit scheme in one space dimension, for a batch of independent problems of one size.
#pragma once
#include <cstdint>

#include "cuda/core/declare.h"
#include "cuda/core/types.h"
#include "cuda/swept/domain.h"

namespace warploom::swept {

/// Layout of a state: component k of point i of problem b is element offset + (b * components + k) * n + i; heat and KS have
/// one component, Euler density, momentum and total energy per volume. With dirichlet ends of KS the end points of `state` must
/// hold 0: variants differ in when they read them (lib/swept writes them).
struct AdvanceParameters {
  ScalarType type = ScalarType::float64;  ///< float32 or float64
  Equation equation = Equation::heat;
  Variant variant = Variant::automatic;
  int64_t n = 0;      ///< points of a problem
  int64_t batch = 1;  ///< problems
  int64_t steps = 0;  ///< time steps, at most kMostSteps
  Boundary left = Boundary::periodic, right = Boundary::periodic;
  double dx = 1, dt = 1;
  double diffusivity = 1;                ///< heat
  double gamma = 1.4;                    ///< euler: ratio of specific heats
  Limiter limiter = Limiter::minmod;     ///< euler
  /// Look for values that are not finite, find the first bad step and stop at the state before it. A step that gives a density or
  /// pressure that is not positive writes NaN for the density, with or without this.
  bool check = true;
  int32_t points = 0;   ///< tiled: points per lane; shared: unused. 0 = policy
  int32_t depth = 0;    ///< time steps per pass over memory; 0 = policy
  int32_t threads = 0;  ///< of a block; 0 = policy
  View state;         ///< at the start; never written
  View next;          ///< after the steps; must not overlap `state`
  /// Report of 6 words: variant, points per lane, steps per pass, threads, completed steps, first bad step (0: none).
  Array<int32_t> used;
};

inline constexpr int64_t kMostSteps = int64_t{1} << 30;
inline constexpr int kUsedWords = 6;

template <class Visitor>
void visit(Visitor& v, AdvanceParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  v.choice("equation", p.equation, kEquationNames);
  v.choice("variant", p.variant, kVariantNames);
  v.integer("n", p.n);
  v.integer("batch", p.batch);
  v.integer("steps", p.steps);
  v.choice("left", p.left, kBoundaryNames);
  v.choice("right", p.right, kBoundaryNames);
  v.real("dx", p.dx);
  v.real("dt", p.dt);
  v.real("diffusivity", p.diffusivity);
  v.real("gamma", p.gamma);
  v.choice("limiter", p.limiter, kLimiterNames);
  v.boolean("check", p.check);
  v.integer("points", p.points);
  v.integer("depth", p.depth);
  v.integer("threads", p.threads);
  v.view("state", p.state, Role::input);
  v.view("next", p.next, Role::output);
  v.array("used", p.used, Role::report);
}

Status check(const AdvanceParameters& p);

inline int64_t elements_of(const AdvanceParameters& p) { return p.batch * components_of(p.equation) * p.n; }

}  // namespace warploom::swept
