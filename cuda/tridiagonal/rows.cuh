// One row of a tridiagonal system, its elimination steps, and what they notice.
#pragma once
#include "cuda/tridiagonal/batch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// a*x[left] + b*x[own] + c*x[right] = d
template <class T>
struct Row {
  T a, b, c, d;
};

WARPLOOM_DEVICE bool is_zero(float a) { return a == 0.0f; }
WARPLOOM_DEVICE bool is_zero(double a) { return a == 0.0; }
template <class R>
WARPLOOM_DEVICE bool is_zero(const Complex<R>& a) { return a.re == R(0) && a.im == R(0); }

/// a / b: correctly rounded for real types.
WARPLOOM_DEVICE float quotient(float a, float b) { return a / b; }
WARPLOOM_DEVICE double quotient(double a, double b) { return a / b; }
template <class R>
WARPLOOM_DEVICE Complex<R> quotient(const Complex<R>& a, const Complex<R>& b) {
  return a * device::reciprocal(b);
}

template <class T>
WARPLOOM_DEVICE T zero() { return T(RealOf<T>(0)); }

/// Eliminates x[left] from `row` with the row of x[left].
template <class T>
WARPLOOM_DEVICE void eliminate_left(Row<T>& row, const Row<T>& left) {
  const T factor = quotient(row.a, left.b);
  row.a = -(left.a * factor);
  row.b = device::fma(-factor, left.c, row.b);
  row.d = device::fma(-factor, left.d, row.d);
}
/// Eliminates x[right] from `row` with the row of x[right].
template <class T>
WARPLOOM_DEVICE void eliminate_right(Row<T>& row, const Row<T>& right) {
  const T factor = quotient(row.c, right.b);
  row.c = -(right.c * factor);
  row.b = device::fma(-factor, right.a, row.b);
  row.d = device::fma(-factor, right.d, row.d);
}

/// What one problem's threads noticed: the first row of each kind, or kNone.
struct Outcome {
  static constexpr int32_t kNone = 0x7fffffff;
  int32_t input = kNone;       ///< a non-finite entry
  int32_t pivot = kNone;       ///< a zero pivot
  int32_t solution = kNone;    ///< a non-finite unknown

  WARPLOOM_DEVICE static void note(int32_t& word, int64_t row) {
    if (row < word) word = static_cast<int32_t>(row);
  }
  template <class T>
  WARPLOOM_DEVICE void check_input(const Row<T>& row, int64_t at) {
    if (!(device::is_finite(row.a) && device::is_finite(row.b) && device::is_finite(row.c) &&
          device::is_finite(row.d))) {
      note(input, at);
    }
  }
  template <class T>
  WARPLOOM_DEVICE void check_pivot(const T& pivot_value, int64_t at) {
    if (is_zero(pivot_value)) note(pivot, at);
  }
  template <class T>
  WARPLOOM_DEVICE void check_solution(const T& x, int64_t at) {
    if (!device::is_finite(x)) note(solution, at);
  }
};

/// Writes the words of a problem. Bad input explains a zero pivot, and either explains a bad solution. A non-finite
/// unknown without such a cause is an overflow, reported as inaccurate.
template <class T>
WARPLOOM_DEVICE void write_outcome(const Batch<T>& batch, int64_t problem, const Outcome& outcome) {
  operation::SystemStatus status = operation::SystemStatus::ok;
  int32_t row = -1;
  if (outcome.input != Outcome::kNone) {
    status = operation::SystemStatus::non_finite;
    row = outcome.input;
  } else if (outcome.pivot != Outcome::kNone) {
    status = operation::SystemStatus::zero_pivot;
    row = outcome.pivot;
  } else if (outcome.solution != Outcome::kNone) {
    status = operation::SystemStatus::inaccurate;
  }
  batch.status[problem] = static_cast<int32_t>(status);
  batch.row[problem] = row;
}

/// Row `i` of a problem from global memory; the unused corners are zero, and are not read.
template <class T>
WARPLOOM_DEVICE Row<T> load_row(const Batch<T>& batch, const Problem& problem, int64_t i) {
  Row<T> row;
  row.a = i > 0 ? batch.lower.load(batch.lower.index(problem.origin, i, 0)) : zero<T>();
  row.b = batch.diagonal.load(batch.diagonal.index(problem.origin, i, 0));
  row.c = i + 1 < problem.rows ? batch.upper.load(batch.upper.index(problem.origin, i, 0)) : zero<T>();
  row.d = batch.rhs.load(batch.rhs.index(problem.origin, i, problem.rhs));
  return row;
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
