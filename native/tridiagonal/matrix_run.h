// Spreads the operations other than solve over the device's threads.
#pragma once
#include "native/tridiagonal/batch_run.h"

namespace warploom::cpu {

/// Arrays of n entries that a tile of any of these operations needs.
inline constexpr int64_t kMatrixArrays = 5;

/// Kernels for a shape. Depends on the shape alone, because factor and solve_factored must agree.
template <class R>
const MatrixKernels<R>& matrix_tiles(bool complex, int64_t n, int64_t count) {
  const MatrixKernels<R>& wide = matrix_kernels_of<R>(kernels(), complex);
  const bool fits = n * kMatrixArrays * wide.element_bytes <= kMaxTileBytes;
  return count > 1 && fits ? wide : matrix_kernels_of<R>(kernels_single(), complex);
}

template <class R>
int64_t matrix_workspace(const CpuDevice& device, bool complex, int64_t n, int64_t count,
                         int64_t arrays = kMatrixArrays) {
  return n * arrays * matrix_tiles<R>(complex, n, count).element_bytes * device.thread_count();
}

/// Whether results are so large that they are evicted from the caches before anyone reads them.
template <class Parameters>
bool stores_around_caches(const Parameters& p) {
  constexpr int64_t kStreamBytes = int64_t{16} << 20;
  return p.rhs.data != p.solution.data &&
         p.n * std::max(p.batch, p.slice.whole) * p.rhs_count * scalar_bytes(p.type) >= kStreamBytes;
}

/// The shape and matrix in any operation's parameters.
template <class R, class Parameters>
Problem<R> matrix_problem(const Parameters& p, bool complex) {
  Problem<R> problem;
  problem.n = p.n;
  problem.systems = p.batch;
  problem.offsets = p.offsets.data;
  problem.periodic = p.periodic;
  set_matrix(p.lower, p.diagonal, p.upper, p.transpose, p.structure, complex, &problem);
  // Bands do not vary with the right-hand side.
  problem.lower.rhs_stride = problem.diagonal.rhs_stride = problem.upper.rhs_stride = 0;
  problem.rhs = problem.solution = problem.diagonal;
  return problem;
}

}  // namespace warploom::cpu
