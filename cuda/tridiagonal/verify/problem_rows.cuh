// Rows of a problem in global memory, and their residuals.
#pragma once
#include "cuda/linear/residual.cuh"
#include "cuda/tridiagonal/batch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// The powers by which a row is scaled: `down` brings its largest entry to about one. Scaling causes no rounding, and
/// scaled rows can be compared as pivot rows, whatever units they were written in.
template <class T>
WARPLOOM_DEVICE Powers<RealOf<T>> row_powers(const T& lower, const T& diagonal, const T& upper) {
  return powers_of(device::maximum(device::maximum(device::absolute(lower), device::absolute(diagonal)),
                                   device::absolute(upper)));
}

/// Rows of one problem, read from global memory; entries outside the matrix read as zero.
template <class T>
struct ProblemRows {
  Strided<T> lower, diagonal, upper, rhs, solution;
  int64_t lower_at = 0, diagonal_at = 0, upper_at = 0, rhs_at = 0, solution_at = 0;
  int64_t rows = 0;
  /// Periodic: coefficient of x[n-1] in row 0, and of x[0] in row n-1.
  T corner_first = T(0), corner_last = T(0);

  ProblemRows() = default;
  WARPLOOM_DEVICE ProblemRows(const Batch<T>& batch, int64_t problem, const T* corners = nullptr)
      : lower(batch.lower), diagonal(batch.diagonal), upper(batch.upper), rhs(batch.rhs), solution(batch.solution) {
    int64_t system = problem, rhs_index = 0;
    if (batch.rhs_count > 1) {
      system = problem / batch.rhs_count;
      rhs_index = problem - system * batch.rhs_count;
    }
    const int64_t origin = batch.origin(system);
    rows = batch.rows(system);
    lower_at = origin * lower.system_stride;
    diagonal_at = origin * diagonal.system_stride;
    upper_at = origin * upper.system_stride;
    rhs_at = rhs.index(origin, 0, rhs_index);
    solution_at = solution.index(origin, 0, rhs_index);
    if (corners != nullptr) {
      corner_first = corners[2 * system];
      corner_last = corners[2 * system + 1];
    }
  }
  WARPLOOM_DEVICE T lower_of(int64_t row) const {
    return row > 0 ? lower.load(lower_at + row * lower.row_stride) : T(0);
  }
  WARPLOOM_DEVICE T diagonal_of(int64_t row) const { return diagonal.load(diagonal_at + row * diagonal.row_stride); }
  WARPLOOM_DEVICE T upper_of(int64_t row) const {
    return row + 1 < rows ? upper.load(upper_at + row * upper.row_stride) : T(0);
  }
  WARPLOOM_DEVICE T rhs_of(int64_t row) const { return rhs.load(rhs_at + row * rhs.row_stride); }
  WARPLOOM_DEVICE T solution_of(int64_t row) const { return solution.load(solution_at + row * solution.row_stride); }
  WARPLOOM_DEVICE void store_solution(int64_t row, const T& value) const {
    solution.store(solution_at + row * solution.row_stride, value);
  }
  /// The powers by which the row is scaled, including its corner.
  WARPLOOM_DEVICE Powers<RealOf<T>> powers(int64_t row) const {
    RealOf<T> size = device::maximum(device::maximum(device::absolute(lower_of(row)), device::absolute(diagonal_of(row))),
                                     device::absolute(upper_of(row)));
    if (row == 0) size = device::maximum(size, device::absolute(corner_first));
    if (row + 1 == rows) size = device::maximum(size, device::absolute(corner_last));
    return powers_of(size);
  }
  /// Whether all entries of the row are finite, including the right-hand side and the corner.
  WARPLOOM_DEVICE bool finite(int64_t row) const {
    bool result = device::is_finite(lower_of(row)) && device::is_finite(diagonal_of(row)) &&
                  device::is_finite(upper_of(row)) && device::is_finite(rhs_of(row));
    if (row == 0) result = result && device::is_finite(corner_first);
    if (row + 1 == rows) result = result && device::is_finite(corner_last);
    return result;
  }
};

/// The residual of one row, from its entries, its own unknown, and those below and above.
template <class T>
WARPLOOM_DEVICE RowResidual<T> entries_residual(const T& lower, const T& diagonal, const T& upper, const T& rhs,
                                                const WideOf<T>& below, const WideOf<T>& own, const WideOf<T>& above) {
  RowSum<T> sum(rhs, row_powers(lower, diagonal, upper));
  sum.subtract(lower, below);
  sum.subtract(upper, above);
  sum.subtract(diagonal, own);
  return sum.result();
}

/// Calls visit(entry, row of its unknown) for the entries of a row in memory, including periodic corners.
template <class T, class Visit>
WARPLOOM_DEVICE void each_entry(const ProblemRows<T>& p, int64_t row, bool periodic, const Visit& visit) {
  if (row > 0) visit(p.lower_of(row), row - 1);
  if (row + 1 < p.rows) visit(p.upper_of(row), row + 1);
  visit(p.diagonal_of(row), row);
  if (periodic && row == 0) visit(p.corner_first, p.rows - 1);
  if (periodic && row + 1 == p.rows) visit(p.corner_last, int64_t{0});
}

/// The same with unknowns from `unknown(row)`, in the wide type.
template <class T, class Unknown>
WARPLOOM_DEVICE RowResidual<T> residual_at(const ProblemRows<T>& p, int64_t row, bool periodic, const Unknown& unknown) {
  RowSum<T> sum(p.rhs_of(row), p.powers(row));
  each_entry(p, row, periodic, [&](const T& entry, int64_t at) { sum.subtract(entry, unknown(at)); });
  return sum.result();
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
