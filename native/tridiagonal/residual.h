// Componentwise backward error of a tile, and residuals for refinement. Include once per instruction set.
#pragma once
#include "native/tridiagonal/algorithms.h"
#include "native/tridiagonal/sources.h"

namespace warploom::cpu::WARPLOOM_ISA {

/// Bands and right-hand side of a tile as arrays of n rows; the periodic corners are separate (zero if there are none).
/// rows[l] is the length of lane l.
template <class S>
struct System {
  int64_t n = 0;
  S *lower = nullptr, *diagonal = nullptr, *upper = nullptr, *rhs = nullptr;
  S top, bottom;  ///< couple row 0 to x[n-1], row n-1 to x[0]
  bool periodic = false;
  int64_t rows[kLanes<S>] = {};
};

/// The term that couples a row to the other end of a periodic system; zero elsewhere.
template <class S>
struct CornerTerm {
  S entry, unknown;
};
template <class S>
CornerTerm<S> corner_term(const System<S>& s, const S* x, int64_t i) {
  CornerTerm<S> term{constant<S>(0), constant<S>(0)};
  for (int l = 0; l < kLanes<S> && s.periodic; ++l) {
    const int64_t last = s.rows[l] - 1;
    if (last < 0 || (i != 0 && i != last)) continue;
    set_lane(term.entry, l, get_lane(i == 0 ? s.top : s.bottom, l));
    set_lane(term.unknown, l, get_lane(x[i == 0 ? last : 0], l));
  }
  return term;
}

/// b - A x of one row and |A||x| + |b|, both in units of `up`, the power of two by which the row is scaled (row_scale).
template <class S>
struct RowMeasure {
  S residual;
  LanesType<S> scale, up;
};

/// Adds no error beyond three roundings, down to rows of subnormal numbers. An unknown below the smallest normal number
/// has lost digits that no solver could have kept; the scale counts it as that number.
template <class S>
WARPLOOM_INLINE RowMeasure<S> measure_row(const System<S>& s, const S* x, int64_t i) {
  using V = LanesType<S>;
  const CornerTerm<S> corner = corner_term(s, x, i);
  V size = larger(larger(absolute(s.lower[i]), absolute(s.diagonal[i])), absolute(s.upper[i]));
  if (s.periodic) size = larger(size, absolute(corner.entry));
  const Powers<V> powers = powers_of(size);
  const V least = broadcast<V>(RealLimits<RealType<S>>::kSafe);
  RowMeasure<S> row{times(powers.down, s.rhs[i]), broadcast<V>(0), powers.up};
  row.scale = modulus(row.residual);
  const auto subtract = [&row, &powers, &least](const S& entry, const S& unknown) {
    const S scaled = times(powers.down, entry);
    row.residual = row.residual - scaled * unknown;
    row.scale = row.scale + modulus(scaled) * larger(modulus(unknown), least);
  };
  subtract(s.diagonal[i], x[i]);
  if (i > 0) subtract(s.lower[i], x[i - 1]);
  if (i + 1 < s.n) subtract(s.upper[i], x[i + 1]);
  if (s.periodic) subtract(corner.entry, corner.unknown);
  return row;
}

/// Componentwise backward error max_i |b - A x|_i / (|A||x| + |b|)_i of every lane (Oettli, Prager 1964). If `residual`
/// is not null, it receives b - A x, with every row scaled by its row_scale().
template <class S>
LanesType<S> backward_error(const System<S>& s, const S* x, S* residual) {
  using V = LanesType<S>;
  V worst = broadcast<V>(0);
  for (int64_t i = 0; i < s.n; ++i) {
    const RowMeasure<S> row = measure_row(s, x, i);
    worst = larger(worst, row_error<V>(modulus(row.residual), row.scale));
    if (residual != nullptr) residual[i] = row.residual;
  }
  return worst;
}

}  // namespace warploom::cpu::WARPLOOM_ISA
