// What the variants of swept.advance share: one march of a state over a number of steps, and the choice between variants.
#pragma once
#include "cuda/core/launch.cuh"
#include "cuda/swept/advance_policy.h"
#include "cuda/swept/euler.h"
#include "cuda/swept/heat.h"
#include "cuda/swept/kuramoto_sivashinsky.h"

namespace warploom::WARPLOOM_TARGET::swept {

namespace operation = ::warploom::swept;
using operation::Boundary;
using operation::Domain;
using operation::Source;
using operation::Variant;
namespace policy = operation::policy;

/// States of numbers R and what to do with them. `from` is never written; `to` and `spare` may hold anything meanwhile.
template <class R>
struct MarchOf {
  Domain domain;
  int64_t batch = 1, steps = 0;
  const R* from = nullptr;
  R* to = nullptr;
  R* spare = nullptr;  ///< as long as a state
  int points = 0, depth = 0, threads = 0;  ///< as asked for: 0 = policy
};

/// Steps of one equation.
template <class Equation>
struct March : MarchOf<typename Equation::Real> {
  using Real = typename Equation::Real;
  Equation equation;

  int64_t rows() const { return this->batch * Equation::kComponents; }
  int64_t elements() const { return rows() * this->domain.n; }
};

/// How a variant did it.
struct Shape {
  int points = 1, depth = 1, threads = 0;
};

/// The value at a place within reach of the domain, which may stand beyond an end.
template <class Equation>
WARPLOOM_DEVICE typename Equation::Value value_at(const Equation& equation, const Domain& domain,
                                                  const typename Equation::Real* problem, int64_t place) {
  const bool inside = domain.holds(place);
  Source source;
  if (!inside) source = domain.source(place);
  const int64_t point = inside ? place : source.point;
  typename Equation::Value value;
  WARPLOOM_UNROLL
  for (int k = 0; k < Equation::kComponents; ++k) value.item[k] = problem[k * domain.n + point];
  return source.mirrored ? equation.mirrored(value) : value;
}

// For explicit instantiation: M(Equation) for each equation and precision.
#define WARPLOOM_FOR_EQUATIONS(M)                                                            \
  M(operation::Heat<float>) M(operation::Heat<double>) M(operation::KuramotoSivashinsky<float>) \
  M(operation::KuramotoSivashinsky<double>) M(operation::Euler<float>) M(operation::Euler<double>)

// One function per variant, defined in <variant>*.cu for Heat, KuramotoSivashinsky and Euler of float and double. Each leaves
// the state after march.steps >= 1 steps in march.to.
template <class Equation>
Status march_classic(GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control);
template <class Equation>
Status march_classic_graph(GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control);
template <class Equation>
Status march_shared(GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control);
template <class Equation>
Status march_hybrid(GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control);
template <class Equation>
Status march_register(GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control);
template <class Equation>
Status march_tiled(GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control);

}  // namespace warploom::WARPLOOM_TARGET::swept
