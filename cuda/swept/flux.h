// The flux through one face of an equation that has fluxes (euler.h), for code that computes each once.
#pragma once
#include "cuda/swept/equation.h"

namespace warploom::swept {

template <class Equation>
inline constexpr bool kHasFluxes = Equation::kFluxes;

/// The limiter looks at pressures: then they are computed once for each cell, with Equation::pressure.
template <class Equation>
WARPLOOM_PORTABLE bool needs_pressures(const Equation& equation) {
  return equation.chosen() == Limiter::paper;
}

/// Twice the flux through the face between cell[0] and cell[1], from them and cell[-1] and cell[2]; `pressure` likewise, where
/// they are needed.
template <class Equation, class Value, class Real>
WARPLOOM_PORTABLE Value twice_flux_right_of(const Equation& equation, const Value* cell, const Real* pressure) {
  Real p[4] = {};
  if (needs_pressures(equation)) {
    for (int i = 0; i < 4; ++i) p[i] = pressure[i - 1];
  }
  const Value a = cell[-1], b = cell[0], c = cell[1], d = cell[2];
  const auto behind = equation.difference(a, b, p[0], p[1]), middle = equation.difference(b, c, p[1], p[2]);
  const auto ahead = equation.difference(c, d, p[2], p[3]);
  return equation.twice_flux(equation.reconstruct(b, behind, middle).right, equation.reconstruct(c, middle, ahead).left, middle);
}

}  // namespace warploom::swept
