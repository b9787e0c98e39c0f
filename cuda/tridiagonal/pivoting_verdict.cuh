// The pivoted solver's judgement of an answer before it is stored.
#pragma once
#include "cuda/tridiagonal/pivoting_chunk.cuh"
#include "cuda/tridiagonal/verify_residual.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Parts of a residual ratio, summed over rows.
template <class R>
struct ResidualSums {
  R residual, solution, peak;
};

template <class R>
WARPLOOM_DEVICE ResidualSums<R> combine(const ResidualSums<R>& a, const ResidualSums<R>& b) {
  return {a.residual + b.residual, a.solution + b.solution, device::maximum(a.peak, b.peak)};
}
/// |r|_1 / (|A|_1 |x|_1) <= 30 epsilon, with max|a| for |A|_1, which it never exceeds. False for NaN and overflow.
template <class R>
WARPLOOM_DEVICE bool accepted(const ResidualSums<R>& s) {
  if (!device::is_finite(s.solution) || !device::is_finite(s.residual)) return false;
  if (s.residual == R(0)) return true;
  return s.residual / s.peak <= static_cast<R>(kLargestResidualRatio * kEpsilon<R>) * s.solution;
}

/// One row's share.
template <class T>
WARPLOOM_DEVICE ResidualSums<RealOf<T>> row_sums(const T& lower, const T& diagonal, const T& upper, const T& rhs,
                                                 const T& below, const T& own, const T& above) {
  const T residual = minus_product(diagonal, own, minus_product(upper, above, minus_product(lower, below, rhs)));
  const RealOf<T> peak = device::maximum(device::maximum(device::absolute(lower), device::absolute(diagonal)),
                                         device::absolute(upper));
  return {device::absolute(residual), device::absolute(own), peak};
}

/// Writes the problem's words, or lists it: what is not finite is sorted out there. `words` has arrays `status`, `row`.
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
