// Solves of a tile with stored factors, and their check. Include once per instruction set, after the
// standard headers.
#pragma once
#include "native/tridiagonal/tile_factor.h"

namespace warploom::cpu::WARPLOOM_ISA {

/// Computes x from the factors and the right-hand sides, which are already in x. `scratch`: n entries.
template <class S>
Noted<S> solve_with_factors(const TileLanes<S>& tile, const FactorJob& job, const FactorStore<S>& store, S* x,
                            S* scratch) {
  using operation::Factorisation;
  using T = One<S>;
  Noted<S> noted = nothing_noted<S>();
  if (job.kind == Factorisation::pivoted) {
    note_all(x, tile.n, &noted.rhs);
    solve_pivoted_tile(tile, store, job.periodic, x, scratch);
    note_all(x, tile.n, &noted.solution);
    return noted;
  }
  T last[kLanes<S>] = {};
  for (int l = 0; job.periodic && l < kLanes<S>; ++l) {
    if (tile.rows[l] < 3) continue;
    last[l] = get_lane(x[tile.rows[l] - 1], l);
    set_lane(x[tile.rows[l] - 1], l, constant<T>(0));
  }
  if (job.kind == Factorisation::cholesky) apply_cholesky(store, tile.n, x, &noted);
  else apply_plain(store, tile.n, x, &noted);
  if (!job.periodic) return noted;
  S corner = constant<S>(0), cut = corner;
  for (int l = 0; l < kLanes<S>; ++l) {
    const int64_t m = tile.rows[l];
    if (m < 3) continue;
    const T value = last[l] - store.closing(l, 0) * get_lane(x[0], l) -
                    store.closing(l, 1) * get_lane(x[m - 2], l);
    set_lane(corner, l, value / store.closing(l, 2));
    set_lane(cut, l, last[l]);
  }
  noted.rhs = noted.rhs + trouble(cut);
  noted.solution = noted.solution + trouble(corner);
  for (int64_t i = 0; i < tile.n; ++i) x[i] = x[i] - store.get(store.border(), i) * corner;
  for (int l = 0; l < kLanes<S>; ++l) {
    if (tile.rows[l] >= 3) set_lane(x[tile.rows[l] - 1], l, get_lane(corner, l));
  }
  note_all(x, tile.n, &noted.solution);
  return noted;
}

/// First non-finite row of a lane, else -1.
template <class S>
int64_t first_bad_row(const S* values, int64_t rows, int lane) {
  for (int64_t i = 0; i < rows; ++i) {
    if (!is_finite(get_lane(values[i], lane))) return i;
  }
  return -1;
}

/// Writes the status words of a solved tile. If the matrix is unsound, the solution becomes NaN. `rhs`: returns the
/// original right-hand sides, for noted lanes; called at most once.
template <class S, class Rhs>
void factored_words(const TileLanes<S>& tile, const FactorStore<S>& store, const Noted<S>& noted, const Rhs& rhs, S* x,
                    int32_t* status, int32_t* row) {
  using V = LanesType<S>;
  using operation::SystemStatus;
  const S* given = nullptr;
  for (int l = 0; l < tile.lanes; ++l) {
    const int32_t state = store.state(l);
    int64_t bad = state <= -2 ? -2 - int64_t{state} : -1;
    if (!(get_lane<V>(noted.rhs, l) == 0)) {
      if (given == nullptr) given = rhs();
      const int64_t first = first_bad_row(given, tile.rows[l], l);
      if (first >= 0 && (bad < 0 || first < bad)) bad = first;
    }
    const SystemStatus outcome = bad >= 0     ? SystemStatus::non_finite
                                 : state >= 0 ? SystemStatus::zero_pivot
                                 : get_lane<V>(noted.solution, l) == 0 ? SystemStatus::ok
                                                                       : SystemStatus::inaccurate;
    status[l] = static_cast<int32_t>(outcome);
    row[l] = static_cast<int32_t>(bad >= 0 ? bad : state >= 0 ? state : -1);
    if (state == -1) continue;
    const One<S> nothing = constant<One<S>>(RealLimits<RealType<S>>::kInfinity) * constant<One<S>>(0);
    for (int64_t i = 0; i < tile.rows[l]; ++i) set_lane(x[i], l, nothing);
  }
}

template <class S>
void write_words(const FactorJob& job, int64_t first, int lanes, int64_t rhs, const int32_t* status,
                 const int32_t* row, const double* error) {
  for (int l = 0; l < lanes; ++l) {
    const int64_t at = (first + l) * job.rhs_count + rhs;
    if (job.status != nullptr) job.status[at] = status[l];
    if (job.row != nullptr) job.row[at] = row[l];
    if (job.backward_error != nullptr) job.backward_error[at] = error[l];
  }
}

/// Computes the backward errors of a solved tile, and solves lanes above the tolerance again by pivoting. f.system.rhs
/// holds the right-hand side.
template <class S>
void check_factored(FullTile<S>& f, const FactorJob& job, int lanes, int32_t* status, int32_t* row, double* error) {
  using V = LanesType<S>;
  const V errors = backward_error(f.system, f.x, static_cast<S*>(nullptr));
  for (int l = 0; l < lanes; ++l) {
    error[l] = get_lane<V>(errors, l);
    check_lane(f, l, job.tolerance, &error[l], &status[l], &row[l]);
  }
}

/// Solves every right-hand side of systems first…first+lanes-1. `problem` has one right-hand side; only the check reads
/// its bands.
template <class S>
void solve_factored_tile(const Problem<RealType<S>>& problem, const FactorJob& job, int64_t first,
                         int lanes, void* scratch) {
  const TileLanes<S> tile(problem, first, lanes);
  const FactorStore<S> store(job, tile);
  int32_t status[kLanes<S>] = {}, row[kLanes<S>];
  double error[kLanes<S>] = {};
  for (int32_t& each : row) each = -1;
  FullTile<S> f(static_cast<S*>(scratch), job.check ? tile.n : 0);
  S* const x = job.check ? f.x : static_cast<S*>(scratch);
  S* const spare = job.check ? f.residual : x + tile.n;
  for (int64_t r = 0; r < job.rhs_count; ++r) {
    if (tile.n > 0) {
      Problem<RealType<S>> one = problem;
      one.rhs.origin += r * one.rhs.rhs_stride;
      one.solution.origin += r * one.solution.rhs_stride;
      const Source<S> rhs = tile.source(one.rhs, 0, 0, 0);
      if (job.check) load_system(tile, Sources<S>(tile, one), &f.system, true);
      tile.load(rhs, 0, tile.n, x);
      const Noted<S> noted = solve_with_factors(tile, job, store, x, spare);
      const auto given = [&] {
        tile.load(rhs, 0, tile.n, spare);
        return spare;
      };
      factored_words(tile, store, noted, given, x, status, row);
      if (job.check) check_factored(f, job, lanes, status, row, error);
      tile.store(tile.source(one.solution, 0, 0, 0), 0, tile.n, x, job.stream);
    }
    write_words<S>(job, first, lanes, r, status, row, error);
  }
}

}  // namespace warploom::cpu::WARPLOOM_ISA
