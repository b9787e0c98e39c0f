// Launches the thread-per-problem pivoted solver over all problems, or over a list made on the device.
#pragma once
#include "cuda/tridiagonal/batch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Problems selected on the device to be solved again: `indices` holds *count of them, in any order.
struct ProblemList {
  const int32_t* indices = nullptr;
  const int32_t* count = nullptr;
};

/// Acceptance and side outputs of a pivoted solve.
struct GtsvOptions {
  /// On the componentwise backward error; 0: the residual ratio must be at most 30.
  double tolerance = 0;
  double* backward_error = nullptr;  ///< one per problem solved, or null
  int32_t flag = 0;                  ///< or-ed into the status words of answers
};

/// Solves the listed problems (or all, if there is no list) by gttrf, gttrs and refinement in working precision; writes
/// solution, status and row. May run in place. If a useful number of threads needs little workspace, the count is read
/// on the device. If they need much, it is read on the host (one synchronisation), so that nothing is allocated for an
/// empty list of huge systems.
template <class T>
Status solve_gtsv(GpuDevice&, const Batch<T>&, const T* corners, const ProblemList&, const GtsvOptions&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
