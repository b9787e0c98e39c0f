// Kuramoto–Sivashinsky equation u_t = -((u^2)_x / 2 + u_xx + u_xxxx): central differences on five points, midpoint rule
// (paper, eqs. 7 to 9; eq. 7 is printed with a wrong sign).
#pragma once
#include "cuda/swept/equation.h"

namespace warploom::swept {

template <class T>
struct KuramotoSivashinsky {
  using Real = T;
  using Value = Values<T, 1>;
  static constexpr Equation kEquation = Equation::kuramoto_sivashinsky;
  static constexpr bool kFluxes = false, kHeldEnds = false, kFollowedEnds = false;
  static constexpr int kComponents = 1, kReach = 2, kSubsteps = 2;

  /// tau * f(u), where sums with equal coefficients are combined: centre * u[0] + near * (u[-1] + u[1]) + far * (u[-2]
  /// + u[2]) + product * (u[1] - u[-1]) * (u[1] + u[-1]).
  struct Coefficients {
    T centre, near, far, product;
  };
  Coefficients predictor;  ///< tau = dt/2, and 1 is added to centre
  Coefficients corrector;  ///< tau = dt

  template <class S>
  static Coefficients folded(double dx, double tau, double identity) {
    const double d2 = 1 / (dx * dx), d4 = d2 * d2;
    return {T(static_cast<S>(identity + tau * (2 * d2 - 6 * d4))), T(static_cast<S>(tau * (4 * d4 - d2))),
            T(static_cast<S>(-tau * d4)), T(static_cast<S>(-tau / (4 * dx)))};
  }
  template <class S>
  static KuramotoSivashinsky make(double dx, double dt) {
    return {folded<S>(dx, dt / 2, 1), folded<S>(dx, dt, 0)};
  }

  /// addend + tau f, without the term in the centre.
  WARPLOOM_PORTABLE T around_sum(const Coefficients& c, const T& before2, const T& before, const T& after, const T& after2,
                                 const T& addend) const {
    using portable::fma;
    const T sum = before + after;
    return fma(c.far, before2 + after2, fma(fma(c.product, after - before, c.near), sum, addend));
  }
  /// Half a step with Euler's method.
  WARPLOOM_PORTABLE T predict(const T& before2, const T& before, const T& here, const T& after, const T& after2) const {
    return around_sum(predictor, before2, before, after, after2, predictor.centre * here);
  }
  /// The whole step from `base`, with the slope at the predicted state.
  WARPLOOM_PORTABLE T correct(const T& before2, const T& before, const T& here, const T& after, const T& after2,
                              const T& base) const {
    using portable::fma;
    return around_sum(corrector, before2, before, after, after2, fma(corrector.centre, here, base));
  }
  template <int kSubstep>
  WARPLOOM_PORTABLE Value next(const Value (&a)[5], const Value& base) const {
    if constexpr (kSubstep == 0) return {{predict(a[0].item[0], a[1].item[0], a[2].item[0], a[3].item[0], a[4].item[0])}};
    else return {{correct(a[0].item[0], a[1].item[0], a[2].item[0], a[3].item[0], a[4].item[0], base.item[0])}};
  }
  /// Odd: u(-x) -> -u(x) maps solutions to solutions.
  WARPLOOM_PORTABLE Value mirrored(const Value& value) const { return {{-value.item[0]}}; }
};

}  // namespace warploom::swept
