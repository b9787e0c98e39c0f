// Solves one tile with every option: any algorithm, periodic corners, check, re-solve by pivoting and refinement.
// Include once per instruction set, after the standard headers.
#pragma once
#include "native/tridiagonal/periodic.h"
#include "native/tridiagonal/residual.h"
#include "native/tridiagonal/streaming.h"

namespace warploom::cpu::WARPLOOM_ISA {

// Arrays of n entries in a full tile: bands and right-hand side, solution, border and its solution, residual,
// correction, work, the solution in double precision (twice the size), and the rows of one lane.
inline constexpr int64_t kLaneArrays = 12;
template <class S>
inline constexpr int64_t kTileArrays =
    9 + kWorkArrays + 4 + (kLaneArrays + kLanes<S> - 1) / kLanes<S>;

template <class S>
struct FullTile {
  System<S> system;
  S *x, *border, *border_solution, *residual, *correction, *work, *precise, *lane;
  FullTile(S* memory, int64_t n) {
    const auto take = [&memory, n](int64_t arrays) {
      S* start = memory;
      memory += arrays * n;
      return start;
    };
    system.n = n;
    system.lower = take(1);
    system.diagonal = take(1);
    system.upper = take(1);
    system.rhs = take(1);
    x = take(1);
    border = take(1);
    border_solution = take(1);
    residual = take(1);
    correction = take(1);
    work = take(kWorkArrays);
    precise = take(4);
    lane = take(1);
  }
};

template <class S>
void run_algorithm(Tile<S>& t, operation::Algorithm algorithm) {
  switch (algorithm) {
    case operation::Algorithm::cr:
    case operation::Algorithm::cr_regpack: return solve_cr(t);
    case operation::Algorithm::pcr: return solve_pcr(t);
    case operation::Algorithm::cr_pcr: return solve_cr_pcr(t);
    case operation::Algorithm::pcr_thomas: return solve_pcr_thomas(t);
    case operation::Algorithm::pivoting: return solve_pivoting(t);
    default: return solve_thomas(t);
  }
}

/// First row of each lane with a non-finite entry, -1 where there is none.
template <class S>
void find_non_finite(const System<S>& s, int64_t* first) {
  using V = LanesType<S>;
  V bad = broadcast<V>(0);
  for (int64_t i = 0; i < s.n; ++i) {
    bad = bad + ((trouble(s.lower[i]) + trouble(s.diagonal[i])) +
                 (trouble(s.upper[i]) + trouble(s.rhs[i])));
  }
  bad = bad + (trouble(s.top) + trouble(s.bottom));
  for (int l = 0; l < kLanes<S>; ++l) {
    first[l] = -1;
    if (get_lane<V>(bad, l) == 0) continue;
    const auto finite = [l](const S& value) { return is_finite(get_lane(value, l)); };
    int64_t i = 0;
    while (i < s.n && finite(s.lower[i]) && finite(s.diagonal[i]) && finite(s.upper[i]) &&
           finite(s.rhs[i])) {
      if (i == 0 && !finite(s.top)) break;
      if (i == s.rows[l] - 1 && !finite(s.bottom)) break;
      ++i;
    }
    first[l] = i;
  }
}

/// Border method: with T the leading rows, T y = b and T z = f; x[n-1] follows from the last row (Schur complement),
/// and x = y - z x[n-1]. Lanes of one or two rows are solved directly.
template <class S>
IndexType<S> solve_bordered(FullTile<S>& f, operation::Algorithm algorithm, const S* rhs, S* x) {
  using T = One<S>;
  System<S>& s = f.system;
  T last_lower[kLanes<S>] = {}, last_diagonal[kLanes<S>] = {}, last_upper[kLanes<S>] = {},
    last_rhs[kLanes<S>] = {};
  S* right = const_cast<S*>(rhs);
  for (int64_t i = 0; i < s.n; ++i) f.border[i] = constant<S>(0);
  for (int l = 0; l < kLanes<S>; ++l) {
    const int64_t m = s.rows[l];
    if (m < 3) continue;
    last_lower[l] = get_lane(s.lower[m - 1], l);
    last_diagonal[l] = get_lane(s.diagonal[m - 1], l);
    last_upper[l] = get_lane(s.upper[m - 2], l);
    last_rhs[l] = get_lane(right[m - 1], l);
    set_lane(s.lower[m - 1], l, constant<T>(0));
    set_lane(s.diagonal[m - 1], l, constant<T>(1));
    set_lane(s.upper[m - 2], l, constant<T>(0));
    set_lane(right[m - 1], l, constant<T>(0));
    set_lane(f.border[0], l, get_lane(s.top, l));
    set_lane(f.border[m - 2], l, get_lane(f.border[m - 2], l) + last_upper[l]);
  }
  Tile<S> t{s.n, s.lower, s.diagonal, s.upper, right, x, f.work,
            index_lanes<LanesType<S>>(-1)};
  run_algorithm(t, algorithm);
  t.rhs = f.border;
  t.x = f.border_solution;
  run_algorithm(t, algorithm);
  S corner = constant<S>(0);
  for (int l = 0; l < kLanes<S>; ++l) {
    const int64_t m = s.rows[l];
    if (m < 3) continue;
    const T bottom = get_lane(s.bottom, l);
    const T schur = last_diagonal[l] - bottom * get_lane(f.border_solution[0], l) -
                    last_lower[l] * get_lane(f.border_solution[m - 2], l);
    const T value = last_rhs[l] - bottom * get_lane(x[0], l) - last_lower[l] * get_lane(x[m - 2], l);
    set_lane(corner, l, value / schur);
    if (is_zero(schur) && get_row<S>(t.zero_row, l) < 0) {
      set_row<S>(t.zero_row, l, m - 1);
    }
    set_lane(s.lower[m - 1], l, last_lower[l]);
    set_lane(s.diagonal[m - 1], l, last_diagonal[l]);
    set_lane(s.upper[m - 2], l, last_upper[l]);
    set_lane(right[m - 1], l, last_rhs[l]);
  }
  for (int64_t i = 0; i < s.n; ++i) x[i] = x[i] - f.border_solution[i] * corner;
  for (int l = 0; l < kLanes<S>; ++l) {
    if (s.rows[l] >= 3) set_lane(x[s.rows[l] - 1], l, get_lane(corner, l));
  }
  return t.zero_row;
}

/// Most corrections of a pivoted solution in working precision; one is nearly always enough.
inline constexpr int kCorrections = 5;
/// An error this large only says that some row is completely wrong: the first corrections need not reduce it.
template <class R>
inline constexpr R kHopelessError = R(0.25);
/// Componentwise backward error that needs no correction.
template <class R>
inline constexpr R kGoodError = 2 * RealLimits<R>::kEpsilon;

/// x + correction, or zero if the correction cancels all of x: then only rounding is left and, if the unknown is really
/// zero, further corrections would leave just as much.
template <class S>
WARPLOOM_INLINE S corrected(const S& x, const S& correction) {
  using V = LanesType<S>;
  const S sum = x + correction;
  const V left = broadcast<V>(16 * RealLimits<RealType<S>>::kEpsilon) * absolute(x);
  return select(absolute(sum) <= left, constant<S>(0), sum);
}

/// One lane by partial pivoting, in the lane's own arrays.
template <class S>
struct PivotedLane {
  using T = One<S>;
  System<T> system;
  T *x, *residual, *correction, *work;
  int64_t zero_row = -1;

  PivotedLane(const FullTile<S>& f, const S* rhs, int lane) {
    const int64_t n = f.system.n, m = f.system.rows[lane];
    T* memory = reinterpret_cast<T*>(f.lane);
    T** const arrays[] = {&system.lower, &system.diagonal, &system.upper, &system.rhs,
                          &x,            &residual,        &correction,   &work};
    for (T** array : arrays) {
      *array = memory;
      memory += n;
    }
    system.n = system.rows[0] = m;
    system.top = system.bottom = constant<T>(0);
    system.periodic = f.system.periodic && m >= 3;
    if (system.periodic) {
      system.top = get_lane(f.system.top, lane);
      system.bottom = get_lane(f.system.bottom, lane);
    }
    for (int64_t i = 0; i < m; ++i) {
      system.lower[i] = get_lane(f.system.lower[i], lane);
      system.diagonal[i] = get_lane(f.system.diagonal[i], lane);
      system.upper[i] = get_lane(f.system.upper[i], lane);
      system.rhs[i] = get_lane(rhs[i], lane);
    }
  }
  /// `scaled`: rhs was scaled with its rows by row_scale().
  void solve(const T* rhs, T* to, bool scaled = false) {
    Tile<T> t{system.n, system.lower, system.diagonal, system.upper, rhs, to, work, -1, scaled};
    if (system.periodic) {
      solve_pivoting_periodic(t, system.top, system.bottom);
    } else {
      solve_pivoting(t);
    }
    zero_row = t.zero_row;
  }
  /// Solves, then refines in working precision as long as that helps; returns the componentwise backward error.
  RealType<S> solve_and_improve() {
    using R = RealType<S>;
    solve(system.rhs, x);
    R error = backward_error(system, x, residual);
    for (int step = 0; step < kCorrections && zero_row < 0 && error > kGoodError<R>; ++step) {
      solve(residual, correction, true);
      for (int64_t i = 0; i < system.n; ++i) correction[i] = corrected(x[i], correction[i]);
      const R improved = backward_error(system, correction, residual);
      if (!(improved < error || (error > kHopelessError<R> && improved <= 1))) break;
      error = improved;
      T* const better = correction;
      correction = x;
      x = better;
    }
    return error;
  }
};

/// Solves for any right-hand side of the tile's systems; returns the rows of zero pivots. `scaled` (pivoting only): rhs
/// was scaled with its rows by row_scale().
template <class S>
IndexType<S> solve_system(FullTile<S>& f, operation::Algorithm algorithm, const S* rhs, S* x, bool scaled = false) {
  System<S>& s = f.system;
  Tile<S> t{s.n, s.lower, s.diagonal, s.upper, rhs, x, f.work, index_lanes<LanesType<S>>(-1), scaled};
  if (!s.periodic) {
    run_algorithm(t, algorithm);
    return t.zero_row;
  }
  if (algorithm != operation::Algorithm::pivoting) return solve_bordered(f, algorithm, rhs, x);
  bool uniform = s.n >= 3;
  for (int l = 0; l < kLanes<S>; ++l) uniform = uniform && s.rows[l] == s.n;
  if (uniform) {
    solve_pivoting_periodic(t, s.top, s.bottom);
    return t.zero_row;
  }
  for (int64_t i = 0; i < s.n; ++i) x[i] = constant<S>(0);  // rows beyond a lane's end
  for (int l = 0; l < kLanes<S>; ++l) {
    if (s.rows[l] == 0) continue;
    PivotedLane<S> lane(f, rhs, l);
    lane.solve(lane.system.rhs, lane.x, scaled);
    for (int64_t i = 0; i < s.rows[l]; ++i) set_lane(x[i], l, lane.x[i]);
    set_row<S>(t.zero_row, l, lane.zero_row);
  }
  return t.zero_row;
}

/// Corrects a pivoted solution by its residual, in working precision, until every lane's componentwise backward error
/// is at rounding level (Skeel 1980; LAPACK gtrfs). A lane keeps only corrections that lower its error.
template <class S>
void improve_pivoted(FullTile<S>& f) {
  using V = LanesType<S>;
  using R = RealType<S>;
  V error = backward_error(f.system, f.x, f.residual);
  const V infinity = broadcast<V>(RealLimits<R>::kInfinity);
  auto active = (broadcast<V>(kGoodError<R>) < error) & (error < infinity);
  for (int step = 0; step < kCorrections && any(active); ++step) {
    solve_system(f, operation::Algorithm::pivoting, f.residual, f.correction, true);
    for (int64_t i = 0; i < f.system.n; ++i) f.correction[i] = corrected(f.x[i], f.correction[i]);
    const V next = backward_error(f.system, f.correction, f.residual);
    const auto hopeless = (broadcast<V>(kHopelessError<R>) < error) & (next <= broadcast<V>(1));
    active = active & ((next < error) | hopeless);
    error = select(active, next, error);
    for (int64_t i = 0; i < f.system.n; ++i) f.x[i] = select(active, f.correction[i], f.x[i]);
    active = active & (broadcast<V>(kGoodError<R>) < error);
  }
}

/// Loads a tile (its right-hand side, or zeros). For systems of one and two rows, corners are added to the bands.
template <class S>
void load_system(const TileLanes<S>& tile, const Sources<S>& sources, System<S>* s, bool with_rhs) {
  using T = One<S>;
  const auto& p = *sources.problem;
  tile.load(sources.lower, 0, s->n, s->lower);
  tile.load(sources.diagonal, 0, s->n, s->diagonal);
  tile.load(sources.upper, 0, s->n, s->upper);
  if (with_rhs) {
    tile.load(sources.rhs, 0, s->n, s->rhs);
  } else {
    for (int64_t i = 0; i < s->n; ++i) s->rhs[i] = constant<S>(0);
  }
  s->periodic = p.periodic;
  s->top = s->bottom = constant<S>(0);
  for (int l = 0; l < kLanes<S>; ++l) s->rows[l] = tile.rows[l];
  for (int l = 0; l < kLanes<S> && p.periodic; ++l) {
    const int64_t m = tile.rows[l];
    if (m == 0) continue;
    const auto corner = [&](const Source<S>& source, int64_t marker) {
      S value = constant<S>(0);
      auto* reals = reinterpret_cast<RealType<S>*>(&value);
      for (int part = 0; part < kParts<S>; ++part) {
        const auto& plane = source.part[part];
        reals[part * kLanes<S> + l] = plane.lane[l][corner_row(marker, m) * plane.row_stride];
      }
      if constexpr (kParts<S> == 2) {
        if (source.conjugate) reals[kLanes<S> + l] = -reals[kLanes<S> + l];
      }
      return get_lane(value, l);
    };
    const T top = corner(sources.lower, p.top_row), bottom = corner(sources.upper, p.bottom_row);
    if (m == 1) {
      set_lane(s->diagonal[0], l, get_lane(s->diagonal[0], l) + top + bottom);
    } else if (m == 2) {
      set_lane(s->upper[0], l, get_lane(s->upper[0], l) + top);
      set_lane(s->lower[1], l, get_lane(s->lower[1], l) + bottom);
    } else {
      set_lane(s->top, l, top);
      set_lane(s->bottom, l, bottom);
    }
  }
}

}  // namespace warploom::cpu::WARPLOOM_ISA
