// Residuals of tridiagonal rows and the backward errors made of them.
#pragma once
#include <cfloat>

#include "cuda/tridiagonal/batch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// The type residuals are computed in: products of two floats are exact in double; doubles rely on fma.
template <class T> struct WideOfType { using Type = double; };
template <class R> struct WideOfType<Complex<R>> { using Type = Complex<double>; };
template <class T> using WideOf = typename WideOfType<T>::Type;

WARPLOOM_DEVICE double widen(float a) { return a; }
WARPLOOM_DEVICE double widen(double a) { return a; }
WARPLOOM_DEVICE Complex<double> widen(const Complex<float>& a) { return {a.re, a.im}; }
WARPLOOM_DEVICE Complex<double> widen(const Complex<double>& a) { return a; }

/// Rounds to T.
template <class T>
WARPLOOM_DEVICE T narrow(const WideOf<T>& a) {
  if constexpr (kIsComplex<T>) {
    return T(static_cast<RealOf<T>>(a.re), static_cast<RealOf<T>>(a.im));
  } else {
    return static_cast<T>(a);
  }
}

template <class R> inline constexpr double kEpsilon = sizeof(R) == 4 ? FLT_EPSILON : DBL_EPSILON;
/// Largest accepted componentwise backward error where the caller names none.
template <class T> inline constexpr double kDefaultTolerance = 64 * kEpsilon<RealOf<T>>;
/// Largest accepted |b - A x|_1 / (|A|_1 |x|_1 epsilon) of the pivoted solver.
inline constexpr double kLargestResidualRatio = 30;

// IEEE division; complex by Smith's scaling, so that only an overflowing quotient overflows.
WARPLOOM_DEVICE float divide(float a, float b) { return a / b; }
WARPLOOM_DEVICE double divide(double a, double b) { return a / b; }
template <class R>
WARPLOOM_DEVICE Complex<R> divide(const Complex<R>& a, const Complex<R>& b) {
  if (device::absolute(b.re) >= device::absolute(b.im)) {
    const R ratio = b.im / b.re;
    const R scale = device::fma(b.im, ratio, b.re);
    return {device::fma(a.im, ratio, a.re) / scale, device::fma(-a.re, ratio, a.im) / scale};
  }
  const R ratio = b.re / b.im;
  const R scale = device::fma(b.re, ratio, b.im);
  return {device::fma(a.re, ratio, a.im) / scale, device::fma(a.im, ratio, -a.re) / scale};
}

/// Rows of one problem, read from global memory; entries outside the matrix read as zero.
template <class T>
struct ProblemRows {
  Strided<T> lower, diagonal, upper, rhs, solution;
  int64_t lower_at = 0, diagonal_at = 0, upper_at = 0, rhs_at = 0, solution_at = 0;
  int64_t rows = 0;
  T corner_first = T(0), corner_last = T(0);  ///< periodic: factor of x[n-1] in row 0, of x[0] in row n-1

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
  /// All entries of the row, right-hand side and the row's corner included, are finite.
  WARPLOOM_DEVICE bool finite(int64_t row) const {
    bool result = device::is_finite(lower_of(row)) && device::is_finite(diagonal_of(row)) &&
                  device::is_finite(upper_of(row)) && device::is_finite(rhs_of(row));
    if (row == 0) result = result && device::is_finite(corner_first);
    if (row + 1 == rows) result = result && device::is_finite(corner_last);
    return result;
  }
};

/// b - A x of one row and |A||x| + |b|, in the wide type.
template <class T>
struct RowResidual {
  WideOf<T> residual;
  double scale;
};

/// Of one row's entries and the unknowns below, its own, and above.
template <class T>
WARPLOOM_DEVICE RowResidual<T> entries_residual(const T& lower_entry, const T& diagonal_entry, const T& upper_entry,
                                                const T& rhs_entry, const WideOf<T>& below, const WideOf<T>& own,
                                                const WideOf<T>& above) {
  const WideOf<T> lower = widen(lower_entry), diagonal = widen(diagonal_entry);
  const WideOf<T> upper = widen(upper_entry), rhs = widen(rhs_entry);
  RowResidual<T> result;
  result.residual = device::fma(-lower, below, rhs);
  result.residual = device::fma(-upper, above, result.residual);
  result.residual = device::fma(-diagonal, own, result.residual);
  result.scale = device::absolute(rhs) + device::absolute(lower) * device::absolute(below) +
                 device::absolute(diagonal) * device::absolute(own) +
                 device::absolute(upper) * device::absolute(above);
  return result;
}

/// Five products of one row: coefficient times unknown (below, own, above, and the periodic corner).
template <class T>
WARPLOOM_DEVICE RowResidual<T> row_residual(const ProblemRows<T>& p, int64_t row, const WideOf<T>& below,
                                            const WideOf<T>& own, const WideOf<T>& above,
                                            const WideOf<T>& far_end, bool periodic) {
  RowResidual<T> result =
      entries_residual<T>(p.lower_of(row), p.diagonal_of(row), p.upper_of(row), p.rhs_of(row), below, own, above);
  if (periodic && (row == 0 || row + 1 == p.rows)) {
    // n = 1 meets both corners in its one row.
    WideOf<T> corner = widen(row == 0 ? p.corner_first : p.corner_last);
    if (p.rows == 1) corner = corner + widen(p.corner_last);
    result.residual = device::fma(-corner, far_end, result.residual);
    result.scale += device::absolute(corner) * device::absolute(far_end);
  }
  return result;
}

/// The same with unknowns from `unknown(row)`, in the wide type.
template <class T, class Unknown>
WARPLOOM_DEVICE RowResidual<T> residual_at(const ProblemRows<T>& p, int64_t row, bool periodic,
                                           const Unknown& unknown) {
  const WideOf<T> zero(0.0), own = unknown(row);
  const WideOf<T> below = row > 0 ? unknown(row - 1) : zero;
  const WideOf<T> above = row + 1 < p.rows ? unknown(row + 1) : zero;
  WideOf<T> far_end = zero;
  if (periodic && row == 0) far_end = unknown(p.rows - 1);
  if (periodic && row > 0 && row + 1 == p.rows) far_end = unknown(0);
  return row_residual<T>(p, row, below, own, above, far_end, periodic);
}

/// |residual| / scale of one row, raised into `worst`. Where the products underflow in double, rows of this size are
/// rounding-free sums of subnormals: an error of a few units there counts as none.
WARPLOOM_DEVICE double raise_backward_error(double worst, double residual, double scale) {
  constexpr double kUnderflow = 16 * 4.9406564584124654e-324;
  if (residual <= kUnderflow) return worst;
  return residual > worst * scale ? residual / scale : worst;
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
