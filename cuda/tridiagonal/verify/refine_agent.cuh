// Iterative refinement with solution and residuals in about twice the precision (precise.cuh), as streaming kernels:
// measure a candidate, decide per problem, apply it, compute the next right-hand side, round at the end.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/linear/precise.cuh"
#include "cuda/linear/stretch.cuh"
#include "cuda/tridiagonal/verify/problem_rows.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// A candidate's worst row and largest residual entry: scale-free and scaled progress of one problem.
struct RefineFinding {
  double backward_error = 0;
  double largest_residual = 0;
  int32_t finite = 1;
  int32_t unused = 0;
};
WARPLOOM_DEVICE RefineFinding combine(const RefineFinding& a, const RefineFinding& b) {
  return {device::maximum(a.backward_error, b.backward_error),
          device::maximum(a.largest_residual, b.largest_residual), a.finite & b.finite, 0};
}

/// Progress of one problem.
struct RefineState {
  double backward_error = 0;
  /// The right-hand side of correction k is the residual times scale[k & 1], a power of two, so that it neither
  /// overflows nor underflows.
  double scale[2] = {0, 0};
  int32_t accepted = 0;  ///< whether the last correction is added
  int32_t active = 0;    ///< whether another correction is needed
};

/// One kernel for all streaming steps: they visit rows in the same way and differ in what they do there.
enum class RefineStep : int32_t {
  begin = 0,    ///< sum = x
  measure = 1,  ///< findings of sum + correction
  apply = 2,    ///< sum += correction if accepted
  residual = 3, ///< correction = (b - A sum) * scale if active, otherwise 0
  round = 4,    ///< x = sum, rounded
};

/// A packed buffer of one value per unknown.
template <class E>
struct PackedLines {
  E* data = nullptr;
  int64_t system_stride = 0, row_stride = 0, rhs_stride = 0;
  WARPLOOM_HOST_DEVICE int64_t index(int64_t system, int64_t row, int64_t rhs) const {
    return system * system_stride + row * row_stride + rhs * rhs_stride;
  }
};

template <class T>
struct RefineAgent {
  static constexpr int kMaxThreads = 128;
  static constexpr int kMinBlocks = 4;
  using Precise = PreciseOf<T>;

  struct Parameters {
    Batch<T> batch;
    const T* corners;
    PackedLines<Precise> sum;
    Strided<T> correction;
    RefineStep step;
    /// Number of the current correction or (residual) of the requested one; measure: 0 before any.
    int32_t iteration;
    Walk walk;
    RefineFinding* findings;  ///< [segment][problem]
    const RefineState* states;
  };

  /// Rows of one problem, and the positions of its precise unknowns and corrections.
  struct Lines {
    ProblemRows<T> rows;
    int64_t sum_at, correction_at;
    double unscale;
    bool corrected;

    WARPLOOM_DEVICE Lines(const Parameters& p, int64_t problem) : rows(p.batch, problem, p.corners) {
      const int64_t system = problem / p.batch.rhs_count, rhs = problem - system * p.batch.rhs_count;
      sum_at = p.sum.index(p.batch.origin(system), 0, rhs);
      correction_at = p.correction.index(p.batch.origin(system), 0, rhs);
      corrected = p.step == RefineStep::measure ? p.iteration > 0 && p.states[problem].active != 0
                                                : p.step == RefineStep::apply && p.states[problem].accepted != 0;
      unscale = corrected ? 1 / p.states[problem].scale[p.iteration & 1] : 0;
    }
    WARPLOOM_DEVICE Precise unknown(const Parameters& p, int64_t row) const {
      const Precise value = p.sum.data[sum_at + row * p.sum.row_stride];
      if (!corrected) return value;
      return add_scaled<T>(value, unscale, p.correction.load(correction_at + row * p.correction.row_stride));
    }
  };

  static WARPLOOM_DEVICE RowResidual<T> residual_of(const Parameters& p, const Lines& lines, int64_t row) {
    RowSum<T> sum(lines.rows.rhs_of(row), lines.rows.powers(row));
    each_entry(lines.rows, row, p.corners != nullptr,
               [&](const T& entry, int64_t at) { subtract<T>(sum, entry, lines.unknown(p, at)); });
    return sum.result();
  }

  static WARPLOOM_DEVICE void step_row(const Parameters& p, const Lines& lines, int64_t problem, int64_t row,
                                       RefineFinding* found) {
    Precise& sum = p.sum.data[lines.sum_at + row * p.sum.row_stride];
    const int64_t correction_at = lines.correction_at + row * p.correction.row_stride;
    switch (p.step) {
      case RefineStep::begin: sum = precise<T>(lines.rows.solution_of(row)); break;
      case RefineStep::measure: {
        const RowResidual<T> r = residual_of(p, lines, row);
        const double size = modulus(r.residual);
        if (!device::is_finite(size)) found->finite = 0;
        found->backward_error = raise_backward_error(found->backward_error, size, r.scale);
        found->largest_residual = device::maximum(found->largest_residual, size * r.up);
        break;
      }
      case RefineStep::apply:
        if (lines.corrected) sum = lines.unknown(p, row);
        break;
      case RefineStep::residual: {
        const RefineState& state = p.states[problem];
        T value(0);
        if (state.active != 0) {
          const RowResidual<T> r = residual_of(p, lines, row);
          value = narrow<T>(times(r.up * state.scale[p.iteration & 1], r.residual));
        }
        p.correction.store(correction_at, value);
        break;
      }
      case RefineStep::round: lines.rows.store_solution(row, rounded<T>(sum)); break;
    }
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const Stretch stretch(block, p.walk, p.batch.problems());
    RefineFinding found;
    if (stretch.present) {
      const Lines lines(p, stretch.problem);
      stretch.each_row(p.walk, lines.rows.rows, [&](int64_t i) { step_row(p, lines, stretch.problem, i, &found); });
    }
    if (p.step == RefineStep::measure) stretch.store(block, p.walk, p.batch.problems(), found, p.findings);
  }
};

/// One thread per problem: keeps a correction that lowers the backward error, and requests another as long as it
/// halves.
template <class T>
struct RefineJudgeAgent {
  static constexpr int kMaxThreads = 128;
  static constexpr int kMinBlocks = 4;

  struct Parameters {
    Batch<T> batch;
    int64_t segments;
    int32_t iteration;
    double good_enough;  ///< a backward error that needs no correction
    const RefineFinding* findings;
    RefineState* states;
    int32_t* active;  ///< counts the problems that need another correction
  };

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t problems = p.batch.problems();
    const int64_t problem = block.index() * block.threads() + block.thread();
    if (problem >= problems) return;
    RefineFinding found;
    for (int64_t s = 0; s < p.segments; ++s) found = combine(found, p.findings[s * problems + problem]);
    RefineState state;
    if (p.iteration == 0) {
      state.backward_error = found.backward_error;
      state.active = found.finite;
    } else {
      state = p.states[problem];
      const bool better = state.active != 0 && found.finite != 0 && found.backward_error < state.backward_error;
      state.accepted = better ? 1 : 0;
      state.active = better && 2 * found.backward_error <= state.backward_error ? 1 : 0;
      if (better) state.backward_error = found.backward_error;
    }
    if (state.backward_error <= p.good_enough || !(found.largest_residual > 0)) state.active = 0;
    state.scale[(p.iteration + 1) & 1] = state.active != 0 ? powers_of(found.largest_residual).down : 0;
    p.states[problem] = state;
    if (state.active != 0) device::atomic_add(p.active, 1);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
