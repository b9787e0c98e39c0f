// Shared by the variants of swept.advance: one march of a state over a number of steps. It is generic: no equation is
// named here.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/swept/advance_policy.h"
#include "cuda/swept/domain.h"

namespace warploom::WARPLOOM_TARGET::swept {

namespace operation = ::warploom::swept;
using operation::Boundary;
using operation::Domain;
using operation::Source;
using operation::Variant;
namespace policy = operation::policy;

/// States with numbers of type R, and what to do with them. `from` is never written; meanwhile `to` and `spare` may
/// hold anything.
template <class R>
struct MarchOf {
  Domain domain;
  int64_t batch = 1, steps = 0;
  const R* from = nullptr;
  R* to = nullptr;
  R* spare = nullptr;  ///< as long as a state
  int points = 0, depth = 0, threads = 0;  ///< as requested: 0 = policy
};

/// Steps of one equation.
template <class Equation>
struct March : MarchOf<typename Equation::Real> {
  using Real = typename Equation::Real;
  Equation equation;

  int64_t rows() const { return this->batch * Equation::kComponents; }
  int64_t elements() const { return rows() * this->domain.n; }
};

/// The parameters that a variant used.
struct Shape {
  int points = 1, depth = 1, threads = 0;
};

/// The value at a place within reach of the domain, which may lie beyond an end.
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

}  // namespace warploom::WARPLOOM_TARGET::swept
