// The flux through one face, for equations that have fluxes (euler.h), in code that computes each flux once.
#pragma once
#include "cuda/swept/equation.h"

namespace warploom::swept {

template <class Equation>
inline constexpr bool kHasFluxes = Equation::kFluxes;

/// Whether the limiter uses pressures; then Equation::pressure computes them once for each cell.
template <class Equation>
WARPLOOM_PORTABLE bool needs_pressures(const Equation& equation) {
  return equation.chosen() == Limiter::paper;
}

/// Twice the flux through the face between cell[0] and cell[1], computed from cell[-1] to cell[2], and from the same
/// elements of `pressure` if needed.
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
