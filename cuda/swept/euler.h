// Euler equations of gas dynamics in one dimension: limited reconstruction, the flux with the spectral radius of the Roe average,
// midpoint rule (paper, eqs. 10 to 21; research on what is wrong in print: docs/swept.md).
#pragma once
#include "cuda/swept/equation.h"

namespace warploom::swept {

/// kLimiter: a Limiter fixed at compile time, or kAnyLimiter for the one in `limiter`.
inline constexpr int kAnyLimiter = -1;

template <class T, int kLimiter = kAnyLimiter>
struct Euler {
  using Real = T;
  using Value = Values<T, 3>;  ///< density, momentum density, total energy density
  static constexpr Equation kEquation = Equation::euler;
  static constexpr int kComponents = 3, kReach = 2, kSubsteps = 2;

  T gamma1;            ///< gamma - 1
  T gamma_gamma1;      ///< gamma (gamma - 1)
  T minus_ratio[2];    ///< -dt/(2 dx) of each sub-step's dt (half a step, a step): fluxes come doubled
  int32_t limiter;

  template <class S>
  static Euler make(double gamma, double dx, double dt, Limiter limiter) {
    return {T(static_cast<S>(gamma - 1)), T(static_cast<S>(gamma * (gamma - 1))),
            {T(static_cast<S>(-dt / (4 * dx))), T(static_cast<S>(-dt / (2 * dx)))}, static_cast<int32_t>(limiter)};
  }
  WARPLOOM_PORTABLE Limiter chosen() const {
    return static_cast<Limiter>(kLimiter == kAnyLimiter ? limiter : kLimiter);
  }

  WARPLOOM_PORTABLE T pressure(const Value& q) const {
    using portable::fma;
    using portable::reciprocal;
    const T velocity = q.item[1] * reciprocal(q.item[0]);
    return gamma1 * fma(T(-0.5) * q.item[1], velocity, q.item[2]);
  }

  /// States that a cell shows at its two faces.
  struct Faces {
    Value left, right;
  };
  /// Reconstruction in a cell from its neighbours; pressures are read by Limiter::paper only.
  WARPLOOM_PORTABLE Faces reconstruct(const Value& before, const Value& here, const Value& after, const T& p_before,
                                      const T& p_here, const T& p_after) const {
    if (chosen() == Limiter::paper) return by_pressure(before, here, after, p_before, p_here, p_after);
    Faces faces;
    for (int k = 0; k < 3; ++k) {
      const T slope = half_slope(here.item[k] - before.item[k], after.item[k] - here.item[k]);
      faces.left.item[k] = here.item[k] - slope;
      faces.right.item[k] = here.item[k] + slope;
    }
    return faces;
  }

  /// Twice the flux through a face between its left and right states (eq. 18).
  WARPLOOM_PORTABLE Value twice_flux(const Value& l, const Value& r) const {
    using portable::absolute;
    using portable::fma;
    using portable::reciprocal;
    using portable::square_root;
    const T l_root = square_root(l.item[0]), r_root = square_root(r.item[0]);
    const T l_volume = reciprocal(l.item[0]), r_volume = reciprocal(r.item[0]);
    const T l_velocity = l.item[1] * l_volume, r_velocity = r.item[1] * r_volume;
    const T l_pressure = gamma1 * fma(T(-0.5) * l.item[1], l_velocity, l.item[2]);
    const T r_pressure = gamma1 * fma(T(-0.5) * r.item[1], r_velocity, r.item[2]);
    // Roe average (eq. 19): root * velocity = momentum / root
    const T l_weight = l_root * l_volume, r_weight = r_root * r_volume;
    const T scale = reciprocal(l_root + r_root);
    const T velocity = (l.item[1] * l_weight + r.item[1] * r_weight) * scale;
    const T energy = (l.item[2] * l_weight + r.item[2] * r_weight) * scale;
    const T sound = square_root(gamma_gamma1 * fma(T(-0.5) * velocity, velocity, energy));
    const T radius = sound + absolute(velocity);  // eq. 20
    Value flux;  // sums of products are not fused: the mirror image must round alike
    flux.item[0] = fma(radius, l.item[0] - r.item[0], l.item[1] + r.item[1]);
    flux.item[1] = fma(radius, l.item[1] - r.item[1],
                       fma(l.item[1], l_velocity, l_pressure) + fma(r.item[1], r_velocity, r_pressure));
    flux.item[2] = fma(radius, l.item[2] - r.item[2],
                       l_velocity * (l.item[2] + l_pressure) + r_velocity * (r.item[2] + r_pressure));
    return flux;
  }

  template <int kSubstep>
  WARPLOOM_PORTABLE Value update(const Value& base, const Value& left_flux, const Value& right_flux) const {
    using portable::fma;
    Value result;
    for (int k = 0; k < 3; ++k) {
      result.item[k] = fma(minus_ratio[kSubstep], right_flux.item[k] - left_flux.item[k], base.item[k]);
    }
    return result;
  }

  template <int kSubstep>
  WARPLOOM_PORTABLE Value next(const Value (&a)[5], const Value& base) const {
    T p[5] = {};
    if (chosen() == Limiter::paper) {
      for (int i = 0; i < 5; ++i) p[i] = pressure(a[i]);
    }
    const Faces before = reconstruct(a[0], a[1], a[2], p[0], p[1], p[2]);
    const Faces here = reconstruct(a[1], a[2], a[3], p[1], p[2], p[3]);
    const Faces after = reconstruct(a[2], a[3], a[4], p[2], p[3], p[4]);
    return update<kSubstep>(base, twice_flux(before.right, here.left), twice_flux(here.right, after.left));
  }
  WARPLOOM_PORTABLE Value mirrored(const Value& v) const { return {{v.item[0], -v.item[1], v.item[2]}}; }

 private:
  /// Eqs. 15 to 17: where the pressure is monotonic, half the difference to the neighbour times min(r, 1), r the ratio of the
  /// pressure differences ahead and behind as seen from the face.
  WARPLOOM_PORTABLE Faces by_pressure(const Value& before, const Value& here, const Value& after, const T& p_before,
                                      const T& p_here, const T& p_after) const {
    using portable::absolute;
    using portable::fma;
    using portable::reciprocal;
    using portable::select;
    const T ahead = p_after - p_here, behind = p_here - p_before;
    const T a = absolute(ahead), b = absolute(behind);
    const auto less = a < b;
    const T large = select(less, b, a), small = select(less, a, b);
    const auto monotonic = (((ahead > T(0)) & (behind > T(0))) | ((ahead < T(0)) & (behind < T(0)))) &
                           (large >= least());
    const T half = select(monotonic, T(0.5), T(0));
    const T part = half * (small * reciprocal(select(monotonic, large, T(1))));
    const T right = select(less, part, half), left = select(b < a, part, half);
    Faces faces;
    for (int k = 0; k < 3; ++k) {
      faces.right.item[k] = fma(right, after.item[k] - here.item[k], here.item[k]);
      faces.left.item[k] = fma(left, before.item[k] - here.item[k], here.item[k]);
    }
    return faces;
  }

  /// Half the limited slope from the differences behind and ahead.
  WARPLOOM_PORTABLE T half_slope(const T& behind, const T& ahead) const {
    using portable::absolute;
    using portable::reciprocal;
    using portable::select;
    const T a = absolute(ahead), b = absolute(behind);
    const auto rising = (ahead > T(0)) & (behind > T(0));
    const auto falling = (ahead < T(0)) & (behind < T(0));
    const T lesser = select(a < b, a, b);
    T size;
    if (chosen() == Limiter::minmod) {
      size = T(0.5) * lesser;
    } else if (chosen() == Limiter::mc) {
      const T mean = T(0.25) * (a + b);
      size = select(mean < lesser, mean, lesser);
    } else {  // van Leer: harmonic mean
      const T sum = a + b;
      const auto fits = sum >= least();
      size = select(fits, a * b * reciprocal(select(fits, sum, T(1))), T(0));
    }
    return select(rising, size, select(falling, -size, T(0)));
  }
  /// Smaller differences count as none: what divides must stay in the range of reciprocal(), in both precisions.
  WARPLOOM_PORTABLE static T least() { return T(0x1p-120); }
};

}  // namespace warploom::swept
