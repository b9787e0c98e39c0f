// A tile from load to status words. Include once per instruction set, after the standard headers.
#pragma once
#include "native/tridiagonal/tile_solve.h"

namespace warploom::cpu::WARPLOOM_ISA {

template <class T> struct DoubleOf { using Type = double; };
template <class R> struct DoubleOf<Complex<R>> { using Type = Complex<double>; };
WARPLOOM_INLINE double widen(double a) { return a; }
template <class R>
WARPLOOM_INLINE Complex<double> widen(const Complex<R>& a) { return {a.re, a.im}; }

/// Lanes of x in double precision, row after row.
template <class S>
class PreciseLanes {
 public:
  using D = typename DoubleOf<One<S>>::Type;
  explicit PreciseLanes(void* memory) : data_(static_cast<D*>(memory)) {}
  D& at(int64_t row, int lane) const { return data_[row * kLanes<S> + lane]; }

 private:
  D* data_;
};

/// b - A x of one lane in double precision, rounded into `residual` where that is not null; returns
/// the componentwise backward error.
template <class S>
double precise_residual(const System<S>& s, const PreciseLanes<S>& x, int lane, S* residual) {
  using D = typename DoubleOf<One<S>>::Type;
  using R = RealType<S>;
  const int64_t m = s.rows[lane];
  double worst = 0;
  for (int64_t i = 0; i < m; ++i) {
    D r = widen(get_lane(s.rhs[i], lane));
    double scale = absolute(r);
    const auto subtract = [&r, &scale](const D& a, const D& value) {
      r = r - a * value;
      scale += absolute(a) * absolute(value);
    };
    subtract(widen(get_lane(s.diagonal[i], lane)), x.at(i, lane));
    if (i > 0) subtract(widen(get_lane(s.lower[i], lane)), x.at(i - 1, lane));
    if (i + 1 < m) subtract(widen(get_lane(s.upper[i], lane)), x.at(i + 1, lane));
    if (s.periodic && i == 0) subtract(widen(get_lane(s.top, lane)), x.at(m - 1, lane));
    if (s.periodic && i == m - 1) subtract(widen(get_lane(s.bottom, lane)), x.at(0, lane));
    const double error = row_error<double>(absolute(r), scale);
    worst = error > worst ? error : worst;
    if (residual == nullptr) continue;
    if constexpr (kParts<S> == 2) {
      set_lane(residual[i], lane, One<S>{static_cast<R>(r.re), static_cast<R>(r.im)});
    } else {
      set_lane(residual[i], lane, static_cast<R>(r));
    }
  }
  return worst;
}

/// Refinement of single precision with residuals and sum in double precision (Moler 1967): up to
/// three steps per lane, while the backward error at least halves.
template <class S>
void refine_tile(FullTile<S>& f, operation::Algorithm algorithm) {
  const System<S>& s = f.system;
  const PreciseLanes<S> sum(f.precise), trial(f.precise + 2 * s.n);
  double error[kLanes<S>];
  bool active[kLanes<S>], any_active = false;
  for (int64_t i = 0; i < s.n; ++i) f.residual[i] = constant<S>(0);
  for (int l = 0; l < kLanes<S>; ++l) {
    for (int64_t i = 0; i < s.rows[l]; ++i) sum.at(i, l) = widen(get_lane(f.x[i], l));
    error[l] = precise_residual(s, sum, l, f.residual);
    active[l] = error[l] > 0 && error[l] < RealLimits<double>::kInfinity;
    any_active = any_active || active[l];
  }
  for (int step = 0; step < 3 && any_active; ++step) {
    solve_system(f, algorithm, f.residual, f.correction);
    any_active = false;
    for (int l = 0; l < kLanes<S>; ++l) {
      if (!active[l]) continue;
      for (int64_t i = 0; i < s.rows[l]; ++i) {
        trial.at(i, l) = sum.at(i, l) + widen(get_lane(f.correction[i], l));
      }
      const double next = precise_residual(s, trial, l, f.residual);
      active[l] = next <= error[l] / 2 && next > 0;
      if (!(next < error[l])) continue;
      error[l] = next;
      for (int64_t i = 0; i < s.rows[l]; ++i) sum.at(i, l) = trial.at(i, l);
      any_active = any_active || active[l];
    }
  }
  using R = RealType<S>;
  for (int l = 0; l < kLanes<S>; ++l) {
    for (int64_t i = 0; i < s.rows[l]; ++i) {
      if constexpr (kParts<S> == 2) {
        set_lane(f.x[i], l, One<S>{static_cast<R>(sum.at(i, l).re), static_cast<R>(sum.at(i, l).im)});
      } else {
        set_lane(f.x[i], l, static_cast<R>(sum.at(i, l)));
      }
    }
  }
}

/// Judges one lane of a checked tile and solves it again by pivoting where it fails.
template <class S>
void check_lane(FullTile<S>& f, int lane, double tolerance, double* error, int32_t* status,
                int32_t* row) {
  const bool failed = *status != 0 || !(*error <= tolerance);
  if (!failed || *status == static_cast<int32_t>(operation::SystemStatus::non_finite)) return;
  PivotedLane<S> again(f, f.system.rhs, lane);
  *error = again.solve_and_improve();
  for (int64_t i = 0; i < again.system.n; ++i) set_lane(f.x[i], lane, again.x[i]);
  *row = static_cast<int32_t>(again.zero_row);
  const operation::SystemStatus outcome = again.zero_row >= 0 ? operation::SystemStatus::zero_pivot
                                          : *error <= tolerance ? operation::SystemStatus::ok
                                                                : operation::SystemStatus::inaccurate;
  *status = static_cast<int32_t>(outcome);
  if (again.zero_row < 0) *status |= operation::kResolvedByPivoting;  // only where there is an answer
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
  if constexpr (sizeof(RealType<S>) == 4) {
    if (options.refine) refine_tile(f, options.algorithm);
  }
  judge_tile(f, options, zero_row, tile.lanes, status, row, error);
  tile.store(sources.solution, 0, tile.n, f.x, options.stream);
}

/// Solves problems first…first+lanes-1 and writes their solution and status words.
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

/// Scratch of solve_tile for systems of up to n rows.
template <class S>
int64_t tile_bytes(const Options& options, bool periodic, int64_t n) {
  const int64_t arrays = streams(options, periodic) ? kStreamingArrays : kTileArrays<S>;
  return arrays * n * static_cast<int64_t>(sizeof(S));
}

}  // namespace warploom::cpu::WARPLOOM_ISA
