// Launches of the thread-per-problem pivoted solver over all problems or over a list made on the device.
#pragma once
#include "cuda/tridiagonal/batch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Problems chosen on the device for another solve: `indices` holds *count of them, in any order.
struct ProblemList {
  const int32_t* indices = nullptr;
  const int32_t* count = nullptr;
};

/// Acceptance and side outputs of a pivoted solve.
struct GtsvOptions {
  double tolerance = 0;              ///< on the componentwise backward error; 0: residual ratio at most 30
  double* backward_error = nullptr;  ///< one per problem solved, or null
  int32_t flag = 0;                  ///< or-ed into the status words of answers
};

/// Solves the listed problems (all where the list is empty) by gttrf, gttrs and refinement in working precision; writes
/// solution, status and row. In place is allowed. The count is read on the device where the workspace for a useful
/// number of threads is small, on the host (one synchronisation) where it is large, so that nothing is allocated for
/// an empty list of huge systems.
template <class T>
Status solve_gtsv(GpuDevice&, const Batch<T>&, const T* corners, const ProblemList&, const GtsvOptions&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
