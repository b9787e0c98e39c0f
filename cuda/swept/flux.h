// The flux through one face of an equation that has fluxes (euler.h), for code that computes each once.
#pragma once
#include "cuda/swept/equation.h"

namespace warploom::swept {

template <class Equation>
inline constexpr bool kHasFluxes = Equation::kEquation == swept::Equation::euler;

/// Twice the flux through the face between the cells `b` and `c`.
template <class Equation, class Value>
WARPLOOM_PORTABLE Value twice_flux_between(const Equation& equation, const Value& a, const Value& b, const Value& c, const Value& d) {
  typename Equation::Real p[4] = {};
  if (equation.chosen() == Limiter::paper) {
    p[0] = equation.pressure(a);
    p[1] = equation.pressure(b);
    p[2] = equation.pressure(c);
    p[3] = equation.pressure(d);
  }
  const auto behind = equation.difference(a, b, p[0], p[1]), middle = equation.difference(b, c, p[1], p[2]);
  const auto ahead = equation.difference(c, d, p[2], p[3]);
  return equation.twice_flux(equation.reconstruct(b, behind, middle).right, equation.reconstruct(c, middle, ahead).left, middle);
}

}  // namespace warploom::swept
