// swept.advance: time steps of an explicit scheme in one space dimension, for a batch of independent problems of one
// size.
#pragma once
#include <cstdint>

#include "cuda/core/declare.h"
#include "cuda/core/report.h"
#include "cuda/core/types.h"
#include "cuda/swept/domain.h"

namespace warploom::swept {

inline constexpr int64_t kMostSteps = int64_t{1} << 30;

/// How the steps were made, and how far they came.
struct AdvanceReport {
  Variant variant = Variant::automatic;
  int32_t points = 0, depth = 0;  ///< points per lane, steps per pass over memory
  int32_t threads = 0;
  int32_t completed = 0;  ///< steps
  int32_t first_bad = 0;  ///< first step that gives a non-finite value; 0: none
};

template <class Visitor, class Parameters>
void visit(Visitor& v, AdvanceReport& r, const Parameters&) {
  v.choice("variant", r.variant, kVariantNames);
  v.integer("points", r.points);
  v.integer("depth", r.depth);
  v.integer("threads", r.threads);
  v.integer("completed", r.completed);
  v.integer("firstBad", r.first_bad);
}

/// Layout of a state: component k of point i of problem b is element offset + (b * components + k) * n + i. heat and KS
/// have one component; Euler has density, momentum and total energy per volume. With dirichlet ends of KS the end
/// points of `state` must hold 0, because variants differ in when they read them (lib/swept writes them).
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
  /// Look for non-finite values, find the first bad step, and stop at the state before it. Regardless of this, a step
  /// whose density or pressure is not positive writes NaN for the density.
  bool check = true;
  int32_t points = 0;   ///< tiled: points per lane; shared: unused. 0 = policy
  int32_t depth = 0;    ///< time steps per pass over memory; 0 = policy
  int32_t threads = 0;  ///< of a block; 0 = policy
  View state;         ///< at the beginning; never written
  View next;          ///< after the steps; must not overlap `state`
  AdvanceReport* report = nullptr;
};

template <class Visitor>
void visit(Visitor& v, AdvanceParameters& p) {
  v.choice("type", p.type, kScalarTypeNames);
  v.choice("equation", p.equation, kEquationNames);
  v.choice("variant", p.variant, kVariantNames);
  v.integer("n", p.n);
  v.integer("batch", p.batch, at_least(0));
  v.integer("steps", p.steps, between(0, kMostSteps));
  v.choice("left", p.left, kBoundaryNames);
  v.choice("right", p.right, kBoundaryNames);
  v.real("dx", p.dx, above(0));
  v.real("dt", p.dt, above(0));
  v.real("diffusivity", p.diffusivity);
  v.real("gamma", p.gamma);
  v.choice("limiter", p.limiter, kLimiterNames);
  v.boolean("check", p.check);
  v.integer("points", p.points, at_least(0));
  v.integer("depth", p.depth, at_least(0));
  v.integer("threads", p.threads, between(0, 1024));
  v.view("state", p.state, Role::input);
  v.view("next", p.next, Role::output);
  v.report(p.report, p);
}

Status check(const AdvanceParameters& p);

inline int64_t elements_of(const AdvanceParameters& p) { return p.batch * components_of(p.equation) * p.n; }

}  // namespace warploom::swept
