// One thread solves one problem by partial pivoting and refines it in working precision: the last resort of the
// pivoted solver and of `check`, and the solver of pivoted periodic systems.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/tridiagonal/pivoting/gtsv.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Findings of one pass over the rows of an answer.
struct Judgement {
  double backward_error = 0;  ///< componentwise
  /// |r|_1 / (max|a| |x|_1 epsilon), an upper bound of the ratio with |A|_1.
  double residual_ratio = 0;
  bool finite = true;         ///< whether the answer is
};

template <class T, bool kPeriodic>
struct GtsvAgent {
  static constexpr int kMaxThreads = 64;
  static constexpr int kMinBlocks = 4;

  struct Parameters {
    Batch<T> batch;
    const T* corners;
    const int32_t* list;   ///< problems to solve; null: all
    const int32_t* count;  ///< how many are listed, in device memory; null: all problems
    T* workspace;          ///< slots * rows * (arrays + 2) entries
    int8_t* choices;       ///< slots * rows
    int64_t rows;          ///< allocated per slot
    int64_t slots;
    double tolerance;        ///< for the componentwise backward error; 0: for the residual ratio instead
    double* backward_error;  ///< written for every problem solved, or null
    int32_t flag;            ///< or-ed into the status words of answers
  };

  static constexpr int kArrays = PivotedFactors<T>::arrays(kPeriodic);

  /// First row of the matrix or right-hand side with a non-finite entry, else -1.
  static WARPLOOM_DEVICE int64_t first_non_finite(const ProblemRows<T>& p) {
    WARPLOOM_NO_UNROLL
    for (int64_t i = 0; i < p.rows; ++i) {
      if (!p.finite(i)) return i;
    }
    return -1;
  }

  static WARPLOOM_DEVICE RowResidual<T> residual_of(const ProblemRows<T>& p, const Line<T>& x, int64_t row) {
    return residual_at<T>(p, row, kPeriodic, [&](int64_t at) { return widen(x.get(at)); });
  }

  static WARPLOOM_DEVICE Judgement judge(const ProblemRows<T>& p, const Line<T>& x) {
    Judgement result;
    double sum_residual = 0, sum_solution = 0;
    double peak = device::maximum(device::absolute(widen(p.corner_first)), device::absolute(widen(p.corner_last)));
    WARPLOOM_NO_UNROLL
    for (int64_t i = 0; i < p.rows; ++i) {
      const RowResidual<T> row = residual_of(p, x, i);
      const double size = modulus(row.residual);
      if (!device::is_finite(x.get(i)) || !device::is_finite(size)) result.finite = false;
      result.backward_error = raise_backward_error(result.backward_error, size, row.scale);
      sum_residual += size * row.up;
      sum_solution += device::absolute(widen(x.get(i)));
      peak = device::maximum(peak, device::absolute(widen(p.lower_of(i))));
      peak = device::maximum(peak, device::absolute(widen(p.diagonal_of(i))));
      peak = device::maximum(peak, device::absolute(widen(p.upper_of(i))));
    }
    if (sum_residual > 0) result.residual_ratio = sum_residual / peak / sum_solution / kEpsilon<RealOf<T>>;
    return result;
  }

  static WARPLOOM_DEVICE void solve(const PivotedFactors<T>& f, int64_t n, const Line<T>& in, const Line<T>& out) {
    if constexpr (kPeriodic) {
      solve_cyclic(f, n, in, out);
    } else {
      solve_pivoted(f, n, in, out);
    }
  }

  /// b - A x, with every row scaled by its powers(), rounded to T.
  static WARPLOOM_DEVICE void write_residual(const ProblemRows<T>& p, const Line<T>& x, const Line<T>& residual) {
    WARPLOOM_NO_UNROLL
    for (int64_t i = 0; i < p.rows; ++i) residual.set(i, narrow<T>(residual_of(p, x, i).residual));
  }

  /// Whether to keep a correction. An error as large as a row only says that some row is completely wrong, so the first
  /// corrections need not reduce it.
  static WARPLOOM_DEVICE bool better(const Judgement& next, const Judgement& best) {
    constexpr double kHopeless = 0.25;
    if (!next.finite) return false;
    return next.backward_error < best.backward_error || (best.backward_error > kHopeless && next.backward_error <= 1);
  }

  /// Solves, and refines as long as that lowers the backward error; leaves the best answer in `x`.
  static WARPLOOM_DEVICE Judgement solve_and_refine(const ProblemRows<T>& p, const PivotedFactors<T>& f,
                                                    const Line<T>& x, const Line<T>& work) {
    for (int64_t i = 0; i < p.rows; ++i) {
      x.set(i, T(0));
      work.set(i, times(p.powers(i).down, p.rhs_of(i)));
    }
    Judgement best;
    constexpr int kLargestCount = 6;
    WARPLOOM_NO_UNROLL
    for (int count = 0; count < kLargestCount; ++count) {
      if (count > 0) write_residual(p, x, work);
      solve(f, p.rows, work, work);
      for (int64_t i = 0; i < p.rows; ++i) {
        const T old = x.get(i);
        x.set(i, count > 0 ? corrected(old, work.get(i)) : work.get(i));
        work.set(i, old);
      }
      const Judgement next = judge(p, x);
      if (count > 0 && !better(next, best)) {
        for (int64_t i = 0; i < p.rows; ++i) x.set(i, work.get(i));
        break;
      }
      best = next;
      if (!best.finite || best.backward_error <= kGoodError<RealOf<T>>) break;
    }
    return best;
  }

  static WARPLOOM_DEVICE void finish(const Parameters& p, const ProblemRows<T>& rows, int64_t problem, int32_t status,
                                     int64_t row, double backward_error) {
    using operation::SystemStatus;
    if (status == static_cast<int32_t>(SystemStatus::zero_pivot) ||
        status == static_cast<int32_t>(SystemStatus::non_finite)) {
      const T none = T(RealOf<T>(NAN));
      for (int64_t i = 0; i < rows.rows; ++i) rows.store_solution(i, none);
    } else {
      status |= p.flag;
    }
    p.batch.status[problem] = status;
    p.batch.row[problem] = static_cast<int32_t>(row);
    if (p.backward_error != nullptr) p.backward_error[problem] = backward_error;
  }

  static WARPLOOM_DEVICE void solve_problem(const Parameters& p, int64_t slot, int64_t problem) {
    using operation::SystemStatus;
    const ProblemRows<T> rows(p.batch, problem, p.corners);
    if (rows.rows == 0) return finish(p, rows, problem, 0, -1, 0);
    const int64_t bad = first_non_finite(rows);
    if (bad >= 0) {
      return finish(p, rows, problem, static_cast<int32_t>(SystemStatus::non_finite), bad, INFINITY);
    }
    const PivotedFactors<T> f{p.workspace + slot, p.choices + slot, p.rows, p.slots};
    const int64_t singular = kPeriodic ? factor_cyclic<true>(rows, f) : factor_pivoted<true>(rows, f);
    if (singular >= 0) {
      return finish(p, rows, problem, static_cast<int32_t>(SystemStatus::zero_pivot), singular, INFINITY);
    }
    const Line<T> x{p.workspace, nullptr, kArrays * p.rows * p.slots + slot, p.slots};
    const Line<T> residual{p.workspace, nullptr, (kArrays + 1) * p.rows * p.slots + slot, p.slots};
    const Judgement verdict = solve_and_refine(rows, f, x, residual);
    for (int64_t i = 0; i < rows.rows; ++i) rows.store_solution(i, x.get(i));
    // If the solution is subnormal, the ratio counts digits that it cannot have; the row-by-row error makes allowance
    // for that.
    const bool solved = verdict.backward_error <= 2 * kGoodError<RealOf<T>> || verdict.residual_ratio <= kLargestResidualRatio;
    const bool good = verdict.finite && (p.tolerance > 0 ? verdict.backward_error <= p.tolerance : solved);
    finish(p, rows, problem, static_cast<int32_t>(good ? SystemStatus::ok : SystemStatus::inaccurate), -1,
           verdict.finite ? verdict.backward_error : INFINITY);
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t slot = block.index() * block.threads() + block.thread();
    if (slot >= p.slots) return;
    const int64_t count = p.count != nullptr ? *p.count : p.batch.problems();
    for (int64_t i = slot; i < count; i += p.slots) solve_problem(p, slot, p.list != nullptr ? p.list[i] : i);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
