// Heat equation: forward differences in time, central differences in space (paper, eq. 4; eq. 3 is printed with a wrong
// sign).
#pragma once
#include "cuda/swept/equation.h"

namespace warploom::swept {

template <class T>
struct Heat {
  using Real = T;
  using Value = Values<T, 1>;
  static constexpr Equation kEquation = Equation::heat;
  static constexpr bool kFluxes = false, kHeldEnds = true, kFollowedEnds = false;
  static constexpr int kComponents = 1, kReach = 1, kSubsteps = 1;

  T fourier;  ///< Fo = diffusivity * dt / dx^2
  T centre;   ///< 1 - 2 Fo

  /// Makes it from the parameters of a call; `S` is the precision to which the coefficients are rounded.
  template <class S>
  static Heat make(double diffusivity, double dx, double dt) {
    const double fo = diffusivity * dt / (dx * dx);
    return {T(static_cast<S>(fo)), T(static_cast<S>(1 - 2 * fo))};
  }

  WARPLOOM_PORTABLE T step(const T& before, const T& here, const T& after) const {
    using portable::fma;
    return fma(fourier, before + after, centre * here);
  }
  template <int kSubstep>
  WARPLOOM_PORTABLE Value next(const Value (&around)[3], const Value&) const {
    return {{step(around[0].item[0], around[1].item[0], around[2].item[0])}};
  }
  WARPLOOM_PORTABLE Value mirrored(const Value& value) const { return value; }
};

}  // namespace warploom::swept
