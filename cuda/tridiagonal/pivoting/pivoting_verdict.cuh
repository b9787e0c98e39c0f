// How the pivoted solver judges an answer before storing it.
#pragma once
#include "cuda/tridiagonal/pivoting/pivoting_chunk.cuh"
#include "cuda/tridiagonal/verify/problem_rows.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Flags of an answer's rows, or-ed together. Zero: every row's backward error is at rounding level.
enum RowFlag : int32_t { kOverLimit = 1, kLost = 2 };
/// Corrections of an answer on chip; one is nearly always enough. Answers that still fail go on the list.
inline constexpr int kChipCorrections = 2;
/// The promised backward error is 4 epsilon; the limit is lower by what rounding in the residual may hide.
template <class R>
inline constexpr R kRowLimit = static_cast<R>(2.5 * kEpsilon<R>);

/// Parts of a residual ratio, summed over rows, and their flags.
template <class R>
struct ResidualSums {
  R residual, solution, peak;
  int32_t flags;
};

template <class R>
WARPLOOM_DEVICE ResidualSums<R> combine(const ResidualSums<R>& a, const ResidualSums<R>& b) {
  return {a.residual + b.residual, a.solution + b.solution, device::maximum(a.peak, b.peak), a.flags | b.flags};
}
/// |r|_1 / (|A|_1 |x|_1) <= 30 epsilon, with max|a| in place of |A|_1, which is never smaller. False for NaN and
/// overflow.
template <class R>
WARPLOOM_DEVICE bool accepted(const ResidualSums<R>& s) {
  if (!device::is_finite(s.solution) || !device::is_finite(s.residual)) return false;
  if (s.residual == R(0)) return true;
  return s.residual / s.peak <= static_cast<R>(kLargestResidualRatio * kEpsilon<R>) * s.solution;
}

/// b - A x of one row, computed in working precision from the scaled row.
template <class T>
struct RowCheck {
  T residual;
  int32_t flags;
};
template <class T>
WARPLOOM_DEVICE RowCheck<T> check_row(const T& lower, const T& diagonal, const T& upper, const T& rhs, const T& below,
                                      const T& own, const T& above) {
  using R = RealOf<T>;
  const Powers<R> powers = row_powers(lower, diagonal, upper);
  const T l = times(powers.down, lower), d = times(powers.down, diagonal), u = times(powers.down, upper);
  const T b = times(powers.down, rhs);
  const T residual = minus_product(d, own, minus_product(u, above, minus_product(l, below, b)));
  const R size = at_least_modulus(residual);
  const R scale = device::fma(at_most_modulus(d), at_most_modulus(own),
                              device::fma(at_most_modulus(u), at_most_modulus(above),
                                          device::fma(at_most_modulus(l), at_most_modulus(below), at_most_modulus(b))));
  const int32_t over = size <= kRowLimit<R> * scale ? 0 : kOverLimit;
  return {times(powers.up, residual), device::is_finite(size) ? over : kOverLimit | kLost};
}

/// Contribution of one row.
template <class T>
WARPLOOM_DEVICE ResidualSums<RealOf<T>> row_sums(const T& lower, const T& diagonal, const T& upper,
                                                 const RowCheck<T>& check, const T& own) {
  const RealOf<T> peak = device::maximum(device::maximum(device::absolute(lower), device::absolute(diagonal)),
                                         device::absolute(upper));
  return {device::absolute(check.residual), device::absolute(own), peak, check.flags};
}

/// Writes the problem's words, or lists it; the solver of the list deals with non-finite values. `words` has the arrays
/// `status` and `row`.
template <class B>
WARPLOOM_DEVICE void settle(bool good, const B& words, int64_t problem, int32_t* list, int32_t* count) {
  if (!good) {
    list[device::atomic_add(count, 1)] = static_cast<int32_t>(problem);
    return;
  }
  words.status[problem] = static_cast<int32_t>(operation::SystemStatus::ok);
  words.row[problem] = -1;
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
