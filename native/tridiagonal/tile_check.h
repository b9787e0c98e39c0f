// A tile from load to status words. Include once per instruction set, after the standard headers.
#pragma once
#include "native/tridiagonal/precise.h"
#include "native/tridiagonal/tile_solve.h"

namespace warploom::cpu::WARPLOOM_ISA {

/// Refinement steps at most. Each gains as many digits as the matrix's condition leaves of the working precision.
inline constexpr int kRefinements = 5;

/// Refinement with residuals and the solution in about twice the working precision (Moler 1967): up to
/// kRefinements steps per lane, while the backward error at least halves.
template <class S>
void refine_tile(FullTile<S>& f, operation::Algorithm algorithm) {
  const System<S>& s = f.system;
  using Number = Precise<One<S>>;
  const PreciseLanes<S> sum(f.precise), trial(f.precise + 2 * s.n);
  double error[kLanes<S>];
  // Residuals are solved for in units of the right-hand side, to avoid underflow.
  Powers<double> unit[kLanes<S>];
  bool active[kLanes<S>], any_active = false;
  for (int64_t i = 0; i < s.n; ++i) f.residual[i] = constant<S>(0);
  for (int l = 0; l < kLanes<S>; ++l) {
    double size = 0;
    for (int64_t i = 0; i < s.rows[l]; ++i) {
      sum.at(i, l) = Number(get_lane(f.x[i], l));
      size = larger(size, static_cast<double>(absolute(get_lane(s.rhs[i], l))));
    }
    unit[l] = powers_of(size);
    error[l] = precise_residual(s, sum, l, unit[l].down, f.residual);
    active[l] = error[l] > 0 && error[l] < RealLimits<double>::kInfinity;
    any_active = any_active || active[l];
  }
  for (int step = 0; step < kRefinements && any_active; ++step) {
    solve_system(f, algorithm, f.residual, f.correction);
    any_active = false;
    for (int l = 0; l < kLanes<S>; ++l) {
      if (!active[l]) continue;
      for (int64_t i = 0; i < s.rows[l]; ++i) {
        trial.at(i, l) = sum.at(i, l);
        trial.at(i, l).add_scaled(unit[l].up, get_lane(f.correction[i], l));
      }
      const double next = precise_residual(s, trial, l, unit[l].down, f.residual);
      active[l] = next <= error[l] / 2 && next > 0;
      if (!(next < error[l])) continue;
      error[l] = next;
      for (int64_t i = 0; i < s.rows[l]; ++i) sum.at(i, l) = trial.at(i, l);
      any_active = any_active || active[l];
    }
  }
  for (int l = 0; l < kLanes<S>; ++l) {
    for (int64_t i = 0; i < s.rows[l]; ++i) set_lane(f.x[i], l, sum.at(i, l).rounded());
  }
}

/// The componentwise backward error of lane `lane` of f.x. The quick value is off by a few roundings; if that could
/// change the verdict, the error is recomputed precisely.
template <class S>
double exact_error(FullTile<S>& f, int lane, double quick, double tolerance) {
  constexpr double kQuickRoundings = 4 * static_cast<double>(RealLimits<RealType<S>>::kEpsilon);
  if (!(absolute(quick - tolerance) <= kQuickRoundings)) return quick;
  const PreciseLanes<S> x(f.precise);
  for (int64_t i = 0; i < f.system.rows[lane]; ++i) x.at(i, lane) = Precise<One<S>>(get_lane(f.x[i], lane));
  return precise_residual(f.system, x, lane, 1, static_cast<S*>(nullptr));
}

/// Checks one lane of a tile, and solves it again by pivoting if it fails.
template <class S>
void check_lane(FullTile<S>& f, int lane, double tolerance, double* error, int32_t* status,
                int32_t* row) {
  *error = exact_error(f, lane, *error, tolerance);
  const bool failed = *status != 0 || !(*error <= tolerance);
  if (!failed || *status == static_cast<int32_t>(operation::SystemStatus::non_finite)) return;
  PivotedLane<S> again(f, f.system.rhs, lane);
  *error = again.solve_and_improve();
  for (int64_t i = 0; i < again.system.n; ++i) set_lane(f.x[i], lane, again.x[i]);
  *error = exact_error(f, lane, *error, tolerance);
  *row = static_cast<int32_t>(again.zero_row);
  const operation::SystemStatus outcome = again.zero_row >= 0 ? operation::SystemStatus::zero_pivot
                                          : *error <= tolerance ? operation::SystemStatus::ok
                                                                : operation::SystemStatus::inaccurate;
  *status = static_cast<int32_t>(outcome);
  if (again.zero_row < 0) *status |= operation::kResolvedByPivoting;  // only if there is an answer
}

/// Status words of a tile after its solution, and the re-solves of `check`.
template <class S>
void judge_tile(FullTile<S>& f, const Options& options, const IndexType<S>& zero_row, int lanes,
                int32_t* status, int32_t* row, double* error) {
  using V = LanesType<S>;
  int64_t non_finite[kLanes<S>];
  find_non_finite(f.system, non_finite);
  V bad = broadcast<V>(0);
  for (int64_t i = 0; i < f.system.n; ++i) bad = bad + trouble(f.x[i]);
  V errors = bad;
  if (options.check) errors = backward_error(f.system, f.x, static_cast<S*>(nullptr));
  for (int l = 0; l < lanes; ++l) {
    using operation::SystemStatus;
    const int64_t zero = get_row<S>(zero_row, l);
    const SystemStatus outcome = non_finite[l] >= 0 ? SystemStatus::non_finite
                                 : zero >= 0        ? SystemStatus::zero_pivot
                                 : get_lane<V>(bad, l) == 0 ? SystemStatus::ok
                                                            : SystemStatus::inaccurate;
    status[l] = static_cast<int32_t>(outcome);
    row[l] = static_cast<int32_t>(non_finite[l] >= 0 ? non_finite[l] : zero);
    error[l] = get_lane<V>(errors, l);
    if (options.check) check_lane(f, l, options.tolerance, &error[l], &status[l], &row[l]);
  }
}

template <class S>
void solve_full(const TileLanes<S>& tile, const Sources<S>& sources, const Options& options,
                S* memory, int32_t* status, int32_t* row, double* error) {
  FullTile<S> f(memory, tile.n);
  load_system(tile, sources, &f.system, true);
  const IndexType<S> zero_row = solve_system(f, options.algorithm, f.system.rhs, f.x);
  if (options.algorithm == operation::Algorithm::pivoting) improve_pivoted(f);
  if (options.refine) refine_tile(f, options.algorithm);
  judge_tile(f, options, zero_row, tile.lanes, status, row, error);
  tile.store(sources.solution, 0, tile.n, f.x, options.stream);
}

/// Solves problems first…first+lanes-1, and writes their solutions and status words.
template <class S>
void solve_tile(const Problem<RealType<S>>& problem, const Options& options, const Results& results,
                int64_t first, int lanes, void* scratch) {
  const TileLanes<S> tile(problem, first, lanes);
  int32_t status[kLanes<S>], row[kLanes<S>];
  double error[kLanes<S>];
  for (int l = 0; l < lanes; ++l) {
    status[l] = 0;
    row[l] = -1;
    error[l] = 0;
  }
  if (tile.n > 0) {
    const Sources<S> sources(tile, problem);
    S* memory = static_cast<S*>(scratch);
    if (streams(options, problem.periodic)) {
      solve_streaming(tile, sources, memory, options.stream, status, row);
    } else {
      solve_full(tile, sources, options, memory, status, row, error);
    }
  }
  for (int l = 0; l < lanes; ++l) {
    if (results.status != nullptr) results.status[first + l] = status[l];
    if (results.row != nullptr) results.row[first + l] = row[l];
    if (results.backward_error != nullptr) results.backward_error[first + l] = error[l];
  }
}

/// Scratch that solve_tile needs for systems of up to n rows.
template <class S>
int64_t tile_bytes(const Options& options, bool periodic, int64_t n) {
  const int64_t arrays = streams(options, periodic) ? kStreamingArrays : kTileArrays<S>;
  return arrays * n * static_cast<int64_t>(sizeof(S));
}

}  // namespace warploom::cpu::WARPLOOM_ISA
