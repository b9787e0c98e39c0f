// One thread's factorisation of one tridiagonal or periodic system by Gaussian elimination with partial pivoting, in
// the order of LAPACK gttrf and gttrs, and the solves with it.
#pragma once
#include "cuda/tridiagonal/verify_residual.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// A vector of one problem in any memory.
template <class T>
struct Line {
  T* data = nullptr;
  RealOf<T>* imaginary = nullptr;
  int64_t at = 0, stride = 1;
  WARPLOOM_DEVICE T get(int64_t i) const { return load_scalar<T>(data, imaginary, at + i * stride, false); }
  WARPLOOM_DEVICE void set(int64_t i, const T& value) const {
    store_scalar<T>(data, imaginary, at + i * stride, value);
  }
};

/// Which row became the pivot row of a step: the running one, the next one, or (periodic) the last one.
enum PivotChoice : int8_t { kRunningRow = 0, kNextRow = 1, kLastRow = 2 };

/// Factors of one problem: arrays of `rows` entries, entry i of array a at base[(a * rows + i) * stride]. Neighbouring
/// threads hold neighbouring bases, so that accesses coalesce.
template <class T>
struct PivotedFactors {
  enum Array { kMultiplier = 0, kPivot = 1, kFirst = 2, kSecond = 3, kLastMultiplier = 4, kLastColumn = 5 };
  static constexpr int arrays(bool periodic) { return periodic ? 6 : 4; }

  T* base = nullptr;
  int8_t* choices = nullptr;
  int64_t rows = 0;    ///< allocated rows: at least the problem's
  int64_t stride = 1;  ///< threads

  WARPLOOM_DEVICE T& at(Array array, int64_t row) const { return base[(array * rows + row) * stride]; }
  WARPLOOM_DEVICE int8_t& choice(int64_t row) const { return choices[row * stride]; }
};

/// L U with row exchanges of a tridiagonal matrix. Returns the row of the first exactly zero pivot, else -1.
template <class T>
WARPLOOM_DEVICE int64_t factor_pivoted(const ProblemRows<T>& p, const PivotedFactors<T>& f) {
  using F = PivotedFactors<T>;
  int64_t singular = -1;
  T own = p.diagonal_of(0), above = p.upper_of(0);
  for (int64_t k = 0; k + 1 < p.rows; ++k) {
    const T next = p.lower_of(k + 1), next_above = p.diagonal_of(k + 1), next_second = p.upper_of(k + 1);
    const bool exchange = device::absolute(next) > device::absolute(own);
    const T pivot = exchange ? next : own, first = exchange ? next_above : above;
    const T second = exchange ? next_second : T(0);
    const bool zero = device::absolute(pivot) == RealOf<T>(0);
    if (zero && singular < 0) singular = k;
    const T multiplier = zero ? T(0) : divide(exchange ? own : next, pivot);
    f.at(F::kMultiplier, k) = multiplier;
    f.at(F::kPivot, k) = pivot;
    f.at(F::kFirst, k) = first;
    f.at(F::kSecond, k) = second;
    f.choice(k) = exchange ? kNextRow : kRunningRow;
    own = device::fma(-multiplier, first, exchange ? above : next_above);
    above = device::fma(-multiplier, second, exchange ? T(0) : next_second);
  }
  f.at(F::kPivot, p.rows - 1) = own;
  if (device::absolute(own) == RealOf<T>(0) && singular < 0) singular = p.rows - 1;
  return singular;
}

/// A row during periodic elimination: its entries in columns k, k+1, k+2 and n-1.
template <class T>
struct CyclicRow {
  T own, first, second, far_end;
};

template <class T>
WARPLOOM_DEVICE CyclicRow<T> eliminated(const CyclicRow<T>& row, const T& multiplier, const CyclicRow<T>& pivot) {
  return {device::fma(-multiplier, pivot.first, row.first), device::fma(-multiplier, pivot.second, row.second), T(0),
          device::fma(-multiplier, pivot.far_end, row.far_end)};
}

/// The same for a periodic matrix. Column k has entries in three rows only: the running one, row k+1 and row n-1; the
/// largest of them is the pivot, so this is Gaussian elimination with full partial pivoting.
template <class T>
WARPLOOM_DEVICE int64_t factor_cyclic(const ProblemRows<T>& p, const PivotedFactors<T>& f) {
  using F = PivotedFactors<T>;
  const int64_t n = p.rows;
  const T zero(0);
  int64_t singular = -1;
  CyclicRow<T> running, last;
  if (n == 1) {
    running.own = p.diagonal_of(0) + p.corner_first + p.corner_last;
    f.at(F::kPivot, 0) = running.own;
    return device::absolute(running.own) == RealOf<T>(0) ? 0 : -1;
  }
  running = {p.diagonal_of(0), n > 2 ? p.upper_of(0) : zero, zero,
             n > 2 ? p.corner_first : p.corner_first + p.upper_of(0)};
  last = {n > 2 ? p.corner_last : p.corner_last + p.lower_of(1), zero, zero, p.diagonal_of(n - 1)};
  for (int64_t k = 0; k + 1 < n; ++k) {
    if (k == n - 3) last.first = last.first + p.lower_of(n - 1);
    const bool has_next = k + 2 < n;
    CyclicRow<T> next = {zero, zero, zero, zero};
    if (has_next) {
      const T beyond = p.upper_of(k + 1);
      next = {p.lower_of(k + 1), p.diagonal_of(k + 1), k + 3 < n ? beyond : zero, k + 3 < n ? zero : beyond};
    }
    const RealOf<T> sizes[3] = {device::absolute(running.own), device::absolute(next.own), device::absolute(last.own)};
    int8_t choice = has_next && sizes[1] > sizes[0] ? kNextRow : kRunningRow;
    if (sizes[2] > sizes[choice]) choice = kLastRow;
    const CyclicRow<T> pivot = choice == kRunningRow ? running : choice == kNextRow ? next : last;
    // Without a next row the two that remain are running and last; the one not chosen becomes last.
    const CyclicRow<T> kept = choice == kNextRow ? running : next;
    const CyclicRow<T> kept_last = choice == kLastRow ? running : last;
    const bool is_zero = device::absolute(pivot.own) == RealOf<T>(0);
    if (is_zero && singular < 0) singular = k;
    const T multiplier = is_zero ? zero : divide(kept.own, pivot.own);
    const T last_multiplier = is_zero ? zero : divide(kept_last.own, pivot.own);
    f.at(F::kMultiplier, k) = multiplier;
    f.at(F::kLastMultiplier, k) = last_multiplier;
    f.at(F::kPivot, k) = pivot.own;
    f.at(F::kFirst, k) = pivot.first;
    f.at(F::kSecond, k) = pivot.second;
    f.at(F::kLastColumn, k) = pivot.far_end;
    f.choice(k) = choice;
    running = eliminated(kept, multiplier, pivot);
    last = eliminated(kept_last, last_multiplier, pivot);
  }
  f.at(F::kPivot, n - 1) = last.far_end;
  if (device::absolute(last.far_end) == RealOf<T>(0) && singular < 0) singular = n - 1;
  return singular;
}

/// Solves with the factors of factor_pivoted; `in` and `out` may be the same line.
template <class T>
WARPLOOM_DEVICE void solve_pivoted(const PivotedFactors<T>& f, int64_t n, const Line<T>& in, const Line<T>& out) {
  using F = PivotedFactors<T>;
  T running = in.get(0);
  for (int64_t k = 0; k + 1 < n; ++k) {
    const T next = in.get(k + 1);
    const bool exchange = f.choice(k) == kNextRow;
    const T pivot = exchange ? next : running;
    out.set(k, pivot);
    running = device::fma(-f.at(F::kMultiplier, k), pivot, exchange ? running : next);
  }
  T above = divide(running, f.at(F::kPivot, n - 1)), second(0);
  out.set(n - 1, above);
  for (int64_t k = n - 2; k >= 0; --k) {
    T sum = device::fma(-f.at(F::kFirst, k), above, out.get(k));
    if (k + 2 < n) sum = device::fma(-f.at(F::kSecond, k), second, sum);
    second = above;
    above = divide(sum, f.at(F::kPivot, k));
    out.set(k, above);
  }
}

/// Solves with the factors of factor_cyclic; `in` and `out` may be the same line.
template <class T>
WARPLOOM_DEVICE void solve_cyclic(const PivotedFactors<T>& f, int64_t n, const Line<T>& in, const Line<T>& out) {
  using F = PivotedFactors<T>;
  T running = in.get(0), last = in.get(n - 1);
  for (int64_t k = 0; k + 1 < n; ++k) {
    const T next = k + 2 < n ? in.get(k + 1) : T(0);
    const int8_t choice = f.choice(k);
    const T pivot = choice == kRunningRow ? running : choice == kNextRow ? next : last;
    const T kept = choice == kNextRow ? running : next;
    const T kept_last = choice == kLastRow ? running : last;
    out.set(k, pivot);
    running = device::fma(-f.at(F::kMultiplier, k), pivot, kept);
    last = device::fma(-f.at(F::kLastMultiplier, k), pivot, kept_last);
  }
  const T far_end = divide(n == 1 ? running : last, f.at(F::kPivot, n - 1));
  out.set(n - 1, far_end);
  T above(0), second(0);
  for (int64_t k = n - 2; k >= 0; --k) {
    T sum = device::fma(-f.at(F::kLastColumn, k), far_end, out.get(k));
    sum = device::fma(-f.at(F::kFirst, k), above, sum);
    sum = device::fma(-f.at(F::kSecond, k), second, sum);
    second = above;
    above = divide(sum, f.at(F::kPivot, k));
    out.set(k, above);
  }
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
