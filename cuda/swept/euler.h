// Euler equations of gas dynamics in one dimension: limited reconstruction, the flux with the spectral radius of the
// Roe average, and the midpoint rule (paper, eqs. 10 to 21; docs/swept.md lists the misprints).
#pragma once
#include <cmath>

#include "cuda/swept/equation.h"
#include "cuda/swept/positive.h"

namespace warploom::swept {

/// kLimiter: a Limiter fixed at compile time, or kAnyLimiter for the one in `limiter`.
inline constexpr int kAnyLimiter = -1;

template <class T, int kLimiter = kAnyLimiter>
struct Euler {
  using Real = T;
  using Value = Values<T, 3>;  ///< density, momentum density, total energy density
  static constexpr Equation kEquation = Equation::euler;
  static constexpr bool kFluxes = true, kHeldEnds = true, kFollowedEnds = true;
  static constexpr int kComponents = 3, kReach = 2, kSubsteps = 2;

  T gamma1;            ///< gamma - 1
  /// 1 - (gamma - 1)/2: weight of momentum * velocity in the flux of momentum.
  T kinetic;
  /// -(gamma - 1)/(2 gamma): its weight in enthalpy/gamma.
  T enthalpy_kinetic;
  T per_gamma;
  T sound;             ///< sqrt(gamma (gamma - 1)/2)
  /// -dt/(2 dx) for each sub-step's dt (half a step, a step), because fluxes are doubled.
  T minus_ratio[2];
  /// Times gamma, because the flux of energy is divided by gamma.
  T minus_energy_ratio[2];
  T under_two;         ///< 2 minus four units in its last place, see settled()
  int32_t limiter;

  template <class S>
  static Euler make(double gamma, double dx, double dt, Limiter limiter) {
    const double gamma1 = gamma - 1, ratio = -dt / (4 * dx);
    const auto rounded = [](double value) { return T(static_cast<S>(value)); };
    return {rounded(gamma1), rounded(1 - gamma1 / 2), rounded(-gamma1 / (2 * gamma)), rounded(1 / gamma),
            rounded(std::sqrt(gamma * gamma1 / 2)), {rounded(ratio), rounded(2 * ratio)},
            {rounded(gamma * ratio), rounded(2 * gamma * ratio)}, rounded(2 - 4 * (sizeof(S) == 4 ? 0x1p-23 : 0x1p-52)),
            static_cast<int32_t>(limiter)};
  }
  /// The same coefficients in every lane of vectors V.
  template <class V>
  WARPLOOM_PORTABLE Euler<V, kLimiter> with() const {
    return {V(gamma1), V(kinetic), V(enthalpy_kinetic), V(per_gamma), V(sound), {V(minus_ratio[0]), V(minus_ratio[1])},
            {V(minus_energy_ratio[0]), V(minus_energy_ratio[1])}, V(under_two), limiter};
  }
  WARPLOOM_PORTABLE Limiter chosen() const {
    return static_cast<Limiter>(kLimiter == kAnyLimiter ? limiter : kLimiter);
  }

  /// Pressure over gamma - 1, which Limiter::paper uses.
  WARPLOOM_PORTABLE T pressure(const Value& q) const {
    using portable::fma;
    using portable::small_reciprocal;
    return fma(-q.item[1], q.item[1] * small_reciprocal(q.item[0] + q.item[0]), q.item[2]);
  }

  /// Between two neighbouring cells: right minus left.
  struct Difference {
    Value state;
    T pressure;  ///< only for Limiter::paper
  };
  WARPLOOM_PORTABLE Difference difference(const Value& before, const Value& after, const T& p_before, const T& p_after) const {
    Difference result;
    for (int k = 0; k < 3; ++k) result.state.item[k] = after.item[k] - before.item[k];
    result.pressure = p_after - p_before;
    return result;
  }

  /// The reconstructed state of a cell at one of its faces.
  struct Side {
    Value state;
    T share;  ///< Limiter::paper: share of the difference to the neighbour there
  };
  struct Faces {
    Side left, right;
  };
  /// Reconstruction in a cell, from the differences to its neighbours.
  WARPLOOM_PORTABLE Faces reconstruct(const Value& here, const Difference& behind, const Difference& ahead) const {
    using portable::fma;
    Faces faces;
    if (chosen() == Limiter::paper) {
      by_pressure(behind.pressure, ahead.pressure, &faces.left.share, &faces.right.share);
      for (int k = 0; k < 3; ++k) {
        faces.left.state.item[k] = fma(-faces.left.share, behind.state.item[k], here.item[k]);
        faces.right.state.item[k] = fma(faces.right.share, ahead.state.item[k], here.item[k]);
      }
    } else {
      faces.left.share = faces.right.share = T(0);
      for (int k = 0; k < 3; ++k) {
        const T slope = half_slope(behind.state.item[k], ahead.state.item[k]);
        faces.left.state.item[k] = here.item[k] - slope;
        faces.right.state.item[k] = here.item[k] + slope;
      }
    }
    return faces;
  }

  /// Roe average (eq. 19) of the states at a face, with each part multiplied by the sum of the square roots of the
  /// densities: sqrt(ab) is computed once, and a single reciprocal is enough. NaN if a density is not positive, and
  /// wherever 4 density^3 leaves the range of float32 (densities of about 1e-13 to 1e12) or float64.
  struct Means {
    T mean, scale, per_product, per_scale;
  };
  WARPLOOM_PORTABLE Means means(const Value& left, const Value& right) const {
    using portable::fma;
    using portable::positive_reciprocal;
    using portable::square_root;
    const T product = left.item[0] * right.item[0], mean = square_root(product);
    const T scale = fma(T(2), mean, left.item[0] + right.item[0]);  // (sqrt(l) + sqrt(r))^2
    const T inverse = positive_reciprocal(product * scale);
    return {mean, scale, scale * inverse, product * inverse};
  }
  /// Velocities of both states and the spectral radius (eq. 20).
  struct Speeds {
    T left, right, radius;
  };
  WARPLOOM_PORTABLE Speeds speeds(const Value& left, const Value& right, const Means& m) const {
    using portable::absolute;
    using portable::fma;
    using portable::square_root;
    using portable::twice;
    const T(&l)[3] = left.item;
    const T(&r)[3] = right.item;
    const T l_volume = r[0] * m.per_product, r_volume = l[0] * m.per_product;
    const T l_velocity = l[1] * l_volume, r_velocity = r[1] * r_volume;
    const T roe_momentum = fma(m.mean, l_velocity + r_velocity, l[1] + r[1]);  // scale * velocity
    const T roe_energy = fma(m.mean, l[2] * l_volume + r[2] * r_volume, l[2] + r[2]);
    const T root = square_root(fma(-roe_momentum, roe_momentum, twice(m.scale) * roe_energy));
    return {l_velocity, r_velocity, fma(sound, root, absolute(roe_momentum)) * m.per_scale};
  }
  /// Twice the flux through a face (eq. 18), with the flux of energy divided by gamma. Computed from the face states of
  /// the cells left and right of it, and from the cells' difference. Sums of products from both sides are not fused,
  /// because the mirror image must round the same way.
  WARPLOOM_PORTABLE Value twice_flux(const Side& left, const Side& right, const Difference& difference) const {
    return twice_flux(left, right, difference, speeds(left.state, right.state, means(left.state, right.state)));
  }
  WARPLOOM_PORTABLE Value twice_flux(const Side& left, const Side& right, const Difference& difference, const Speeds& speeds) const {
    using portable::fma;
    const T(&l)[3] = left.state.item;
    const T(&r)[3] = right.state.item;
    // l - r; with shares a and b of one difference d this is (a + b - 1) d
    const bool shared = chosen() == Limiter::paper;
    const T weight = shared ? fma(speeds.radius, left.share + right.share, -speeds.radius) : speeds.radius;
    Value drop;
    for (int k = 0; k < 3; ++k) drop.item[k] = shared ? difference.state.item[k] : l[k] - r[k];
    const T momentum = l[1] + r[1], energy = l[2] + r[2];
    const T l_kinetic = l[1] * speeds.left, r_kinetic = r[1] * speeds.right;
    Value flux;
    flux.item[0] = fma(weight, drop.item[0], momentum);
    flux.item[1] = fma(weight, drop.item[1], fma(kinetic, l_kinetic + r_kinetic, gamma1 * energy));
    flux.item[2] = fma(weight * per_gamma, drop.item[2],
                       speeds.left * fma(enthalpy_kinetic, l_kinetic, l[2]) + speeds.right * fma(enthalpy_kinetic, r_kinetic, r[2]));
    return flux;
  }

  /// The factors for the difference of two fluxes in a sub-step.
  struct Ratio {
    T of_mass, of_energy;  ///< momentum uses of_mass
  };
  WARPLOOM_PORTABLE Ratio ratio(int substep) const {
    return {substep == 0 ? minus_ratio[0] : minus_ratio[1], substep == 0 ? minus_energy_ratio[0] : minus_energy_ratio[1]};
  }
  WARPLOOM_PORTABLE Value update(const Ratio& ratio, const Value& base, const Value& left_flux, const Value& right_flux) const {
    using portable::fma;
    Value result;
    for (int k = 0; k < 3; ++k) {
      result.item[k] = fma(k < 2 ? ratio.of_mass : ratio.of_energy, right_flux.item[k] - left_flux.item[k], base.item[k]);
    }
    return result;
  }
  template <int kSubstep>
  WARPLOOM_PORTABLE Value update(const Value& base, const Value& left_flux, const Value& right_flux) const {
    const Value result = update(ratio(kSubstep), base, left_flux, right_flux);
    return kSubstep == 0 ? result : settled(result);
  }
  /// The final result of a whole step. If density or pressure is not positive, the density becomes NaN. It stays NaN in
  /// all later steps, so the first such step can be found afterwards (advance_report.h). `under_two` covers the
  /// rounding of these products and of the pressure that a reader computes: every accepted state has a positive
  /// pressure. It costs two multiplications and one fused operation, of about 230 per step.
  WARPLOOM_PORTABLE Value settled(const Value& q) const {
    using portable::both_positive;
    using portable::fma;
    using portable::select;
    const T excess = fma(under_two * q.item[0], q.item[2], -(q.item[1] * q.item[1]));  // 2 density pressure / (gamma - 1)
    return {{select(both_positive(q.item[0], excess), q.item[0], T(__builtin_nan(""))), q.item[1], q.item[2]}};
  }

  template <int kSubstep>
  WARPLOOM_PORTABLE Value next(const Value (&a)[5], const Value& base) const {
    T p[5];
    for (int i = 0; i < 5; ++i) p[i] = chosen() == Limiter::paper ? pressure(a[i]) : T(0);
    Difference d[4];
    for (int i = 0; i < 4; ++i) d[i] = difference(a[i], a[i + 1], p[i], p[i + 1]);
    const Faces before = reconstruct(a[1], d[0], d[1]), here = reconstruct(a[2], d[1], d[2]), after = reconstruct(a[3], d[2], d[3]);
    return update<kSubstep>(base, twice_flux(before.right, here.left, d[1]), twice_flux(here.right, after.left, d[2]));
  }
  WARPLOOM_PORTABLE Value mirrored(const Value& v) const { return {{v.item[0], -v.item[1], v.item[2]}}; }

 private:
  /// Eqs. 15 to 17: where the pressure is monotonic, half the difference to the neighbour times min(r, 1). r is the
  /// ratio of the pressure differences ahead and behind, seen from the face.
  WARPLOOM_PORTABLE static void by_pressure(const T& behind, const T& ahead, T* left, T* right) {
    using portable::absolute;
    using portable::alike;
    using portable::select;
    using portable::small_reciprocal;
    using portable::twice;
    const T a = absolute(ahead), b = absolute(behind);
    const auto large_ahead = a >= b, large_behind = b >= a;
    const T large = select(large_ahead, ahead, behind), small = select(large_ahead, behind, ahead);
    const T part = small * small_reciprocal(twice(large));
    const auto monotonic = alike(ahead, behind, least());
    const T half = select(monotonic, T(0.5), T(0)), less = select(monotonic, part, T(0));
    *right = select(large_ahead, half, less);
    *left = select(large_behind, half, less);
  }

  /// Half the limited slope from the differences behind and ahead; 0 if they differ in sign or one counts as zero. One
  /// test serves all limiters. The formulas need no case for signs: the result changes sign with both differences.
  WARPLOOM_PORTABLE T half_slope(const T& behind, const T& ahead) const {
    using portable::absolute;
    using portable::alike;
    using portable::select;
    using portable::small_reciprocal;
    T half;
    if (chosen() == Limiter::van_leer) {  // harmonic mean
      half = ahead * behind * small_reciprocal(ahead + behind);
    } else {
      const T lesser = select(absolute(behind) < absolute(ahead), behind, ahead);
      if (chosen() == Limiter::minmod) {
        half = T(0.5) * lesser;
      } else {  // mc
        const T mean = T(0.25) * (ahead + behind);
        half = select(absolute(mean) < absolute(lesser), mean, lesser);
      }
    }
    return select(alike(ahead, behind, least()), half, T(0));
  }
  /// Smaller differences count as zero: divisors must stay in the range of reciprocal(), in both precisions.
  WARPLOOM_PORTABLE static T least() { return T(0x1p-96); }
};

}  // namespace warploom::swept
