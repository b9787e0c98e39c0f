// Which batches solve_matrix_rows treats as right-hand sides of one matrix, or of one matrix each.
#pragma once
#include "cuda/tridiagonal/inputs.cuh"
#include "cuda/tridiagonal/regpack/matrix_policy.h"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Whether solve_matrix_rows supports the batch.
template <class T>
bool takes_matrix_rows(const Batch<T>& batch, int multiprocessors) {
  const int64_t problems = batch.planned_problems(), per_matrix = is_one_matrix(batch) ? problems : batch.rhs_count;
  return !kIsComplex<T> && lies_in_vectors(batch) &&
         operation::reuses_matrix(batch.n, problems, per_matrix, sizeof(T), multiprocessors);
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
