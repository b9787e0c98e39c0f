// What tridiagonal.solve calls after (or around) an algorithm: the check of every answer, its repair by pivoting,
// refinement with precise residuals, and the pivoted solver of periodic systems.
//
// Order of the calls (solve_call.cuh), each step only if requested:
//   keep_rhs (check or refine, in place)  ->  the algorithm  ->  refine  ->  verify
// or, if a kernel measures its own answers,
//   keep_rhs (in place)  ->  solve_verified
#pragma once
#include <functional>

#include "cuda/core/runtime.h"
#include "cuda/tridiagonal/batch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// How to judge answers.
template <class T>
struct Verification {
  /// Largest accepted componentwise backward error max_i |b - A x|_i / (|A||x| + |b|)_i (Oettli, Prager 1964);
  /// 0 means 64 epsilon of the real type.
  double tolerance = 0;
  double* backward_error = nullptr;  ///< one per problem, device memory; may be null
  /// Periodic systems: for system s of op(A), the coefficient of x[n-1] in row 0 at [2 s], and that of x[0] in row n-1
  /// at [2 s + 1], in device memory; null if not periodic. n = 1 and n = 2 need no special case: the corners add up.
  const T* corners = nullptr;
};

/// Makes `kept` equal to `batch`, but copies the right-hand sides into `memory` if the solution overwrites them, so
/// that residuals can be computed afterwards. If rhs and solution are different buffers, nothing is copied.
template <class T>
Status keep_rhs(GpuDevice&, const Batch<T>& batch, Workspace* memory, Batch<T>* kept);

/// Computes every problem's componentwise backward error from its rows in global memory. By partial pivoting (with
/// refinement in working precision) it solves again the problems that exceed the tolerance, have non-finite answers to
/// finite inputs, or met a zero pivot. Those get kResolvedByPivoting in their status word. Problems that still exceed
/// the tolerance are `inaccurate`; problems with an exactly zero pivot after pivoting are `zero_pivot`, with its row.
/// `batch.rhs` must still hold the right-hand sides (keep_rhs); `batch.status` and `row` hold the algorithm's words.
template <class T>
Status verify(GpuDevice&, const Batch<T>& batch, const Verification<T>&, Used*);

/// cr-regpack and verify in one kernel, which reads the rows from memory once. Code::unsupported, with nothing solved,
/// if there is no such kernel.
template <class T>
Status solve_verified(GpuDevice&, const Batch<T>& batch, int depth, const Verification<T>&, Used*);

/// Refines solutions with residuals and sums in about twice the precision of T: x += solve(b - A x), up to five times,
/// and per problem only as long as its backward error at least halves. x is rounded to T at the end. `solve` runs the
/// algorithm on another right-hand side of the same systems (the batch it receives has its own rhs, solution, status
/// and row).
template <class T>
Status refine(GpuDevice&, const Batch<T>& batch, const Verification<T>&,
              const std::function<Status(const Batch<T>&)>& solve, Used*);
/// The same with at most `most` corrections, and none for backward errors up to `good_enough`.
template <class T>
Status refine_until(GpuDevice&, const Batch<T>& batch, const T* corners, double good_enough, int most,
                    const std::function<Status(const Batch<T>&)>& solve, Used*);

/// Partial pivoting over all candidate rows of a periodic system, one thread per problem (may run in place). `corners`
/// as in Verification; the bands' own corner entries are not read.
template <class T>
Status solve_pivoting_periodic(GpuDevice&, const Batch<T>& batch, const T* corners, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
