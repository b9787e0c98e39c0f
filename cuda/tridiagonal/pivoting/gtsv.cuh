// One thread's factorisation of one tridiagonal or periodic system by Gaussian elimination with partial pivoting, in
// the order of LAPACK gttrf and gttrs, and the solves with it.
#pragma once
#include "cuda/tridiagonal/verify/problem_rows.cuh"

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

/// The row that became the pivot row of a step: the running one, the next one, or (periodic) the last one.
enum PivotChoice : int8_t { kRunningRow = 0, kNextRow = 1, kLastRow = 2 };

/// Factors of one problem: arrays of `rows` entries; entry i of array a is at base[(a * rows + i) * stride].
/// Neighbouring threads hold neighbouring bases, so that accesses coalesce.
template <class T>
struct PivotedFactors {
  enum Array { kMultiplier = 0, kPivot = 1, kFirst = 2, kSecond = 3, kLastMultiplier = 4, kLastColumn = 5 };
  static WARPLOOM_HOST_DEVICE constexpr int arrays(bool periodic) { return periodic ? 6 : 4; }

  T* base = nullptr;
  int8_t* choices = nullptr;
  int64_t rows = 0;    ///< allocated rows: at least the problem's
  int64_t stride = 1;  ///< threads

  WARPLOOM_DEVICE T& at(Array array, int64_t row) const { return base[(array * rows + row) * stride]; }
  WARPLOOM_DEVICE int8_t& choice(int64_t row) const { return choices[row * stride]; }
};

/// use(i, load(i)) for i = 0 … n-1 in order. Several rows are loaded before the first is used, because stores in
/// between would delay the loads.
template <class T, int kAhead = kIsComplex<T> ? 2 : 8, class Load, class Use>
WARPLOOM_DEVICE void read_ahead(int64_t n, const Load& load, const Use& use) {
  int64_t i = 0;
  WARPLOOM_NO_UNROLL
  for (; i + kAhead <= n; i += kAhead) {
    decltype(load(i)) values[kAhead];
    WARPLOOM_UNROLL
    for (int j = 0; j < kAhead; ++j) values[j] = load(i + j);
    WARPLOOM_UNROLL
    for (int j = 0; j < kAhead; ++j) use(i + j, values[j]);
  }
  WARPLOOM_NO_UNROLL
  for (; i < n; ++i) use(i, load(i));
}

/// A row's bands.
template <class T>
struct BandRow {
  T lower, diagonal, upper;
};
/// A row of the matrix, unchanged or (kScaled) scaled by its powers(); the right-hand sides are then scaled too.
template <bool kScaled, class T>
WARPLOOM_DEVICE BandRow<T> band_row(const ProblemRows<T>& p, int64_t row) {
  const BandRow<T> r{p.lower_of(row), p.diagonal_of(row), p.upper_of(row)};
  if constexpr (!kScaled) return r;
  const RealOf<T> scale = p.powers(row).down;
  return {times(scale, r.lower), times(scale, r.diagonal), times(scale, r.upper)};
}

/// LU factorisation with row exchanges of a tridiagonal matrix. Returns the row of the first exactly zero pivot, else
/// -1.
template <bool kScaled = false, class T>
WARPLOOM_DEVICE int64_t factor_pivoted(const ProblemRows<T>& p, const PivotedFactors<T>& f) {
  using F = PivotedFactors<T>;
  int64_t singular = -1;
  const BandRow<T> top = band_row<kScaled>(p, 0);
  T own = top.diagonal, above = top.upper;
  const auto load = [&](int64_t k) { return band_row<kScaled>(p, k + 1); };
  read_ahead<T>(p.rows - 1, load, [&](int64_t k, const BandRow<T>& next) {
    const bool exchange = device::absolute(next.lower) > device::absolute(own);
    const T pivot = exchange ? next.lower : own, first = exchange ? next.diagonal : above;
    const T second = exchange ? next.upper : T(0);
    const bool zero = device::absolute(pivot) == RealOf<T>(0);
    if (zero && singular < 0) singular = k;
    const T multiplier = zero ? T(0) : divide(exchange ? own : next.lower, pivot);
    f.at(F::kMultiplier, k) = multiplier;
    f.at(F::kPivot, k) = pivot;
    f.at(F::kFirst, k) = first;
    f.at(F::kSecond, k) = second;
    f.choice(k) = exchange ? kNextRow : kRunningRow;
    own = device::fma(-multiplier, first, exchange ? above : next.diagonal);
    above = device::fma(-multiplier, second, exchange ? T(0) : next.upper);
  });
  f.at(F::kPivot, p.rows - 1) = own;
  if (device::absolute(own) == RealOf<T>(0) && singular < 0) singular = p.rows - 1;
  return singular;
}

/// A row during periodic elimination: its entries in columns k, k+1, k+2, n-2 and n-1. An entry in one of the last two
/// columns is kept there, not in `first` or `second`.
template <class T>
struct CyclicRow {
  T own, first, second, far, farthest;
};

template <class T>
WARPLOOM_DEVICE CyclicRow<T> eliminated(const CyclicRow<T>& row, const T& multiplier, const CyclicRow<T>& pivot) {
  return {device::fma(-multiplier, pivot.first, row.first), device::fma(-multiplier, pivot.second, row.second), T(0),
          device::fma(-multiplier, pivot.far, row.far), device::fma(-multiplier, pivot.farthest, row.farthest)};
}

/// Row k+1 of a periodic matrix, k < n-2, relative to column k.
template <class T>
WARPLOOM_DEVICE CyclicRow<T> cyclic_row(int64_t n, int64_t k, const T& lower, const T& diagonal, const T& upper) {
  const T zero(0);
  return {lower, k + 3 < n ? diagonal : zero, k + 4 < n ? upper : zero,
          k + 3 == n ? diagonal : k + 4 == n ? upper : zero, k + 3 == n ? upper : zero};
}

/// The same for a periodic matrix. Column k < n-2 has entries in three rows only: the running row, row k+1, and row n-1
/// or the row that replaced it. The largest is the pivot, so this is Gaussian elimination with full partial pivoting.
/// kSecond holds the coefficient of x[k+2] if row k+1 is the pivot row, otherwise that of x[n-2].
template <bool kScaled = false, class T>
WARPLOOM_DEVICE int64_t factor_cyclic(const ProblemRows<T>& p, const PivotedFactors<T>& f) {
  using F = PivotedFactors<T>;
  const int64_t n = p.rows;
  const T zero(0);
  int64_t singular = -1;
  const RealOf<T> first_scale = kScaled ? p.powers(0).down : RealOf<T>(1);
  const RealOf<T> last_scale = kScaled ? p.powers(n - 1).down : RealOf<T>(1);
  const T corner_first = times(first_scale, p.corner_first), corner_last = times(last_scale, p.corner_last);
  const BandRow<T> top = band_row<kScaled>(p, 0), bottom = band_row<kScaled>(p, n - 1);
  if (n == 1) {
    const T own = top.diagonal + corner_first + corner_last;
    f.at(F::kPivot, 0) = own;
    return device::absolute(own) == RealOf<T>(0) ? 0 : -1;
  }
  CyclicRow<T> running = cyclic_row(n, int64_t{-1}, zero, top.diagonal, top.upper);
  running = {running.first, running.second, zero, running.far, running.farthest + corner_first};
  CyclicRow<T> last = {corner_last, zero, zero, bottom.lower, bottom.diagonal};
  if (n == 2) {
    running = {zero, zero, zero, top.diagonal, top.upper + corner_first};
    last = {zero, zero, zero, bottom.lower + corner_last, bottom.diagonal};
  }
  for (int64_t k = 0; k + 2 < n; ++k) {
    const BandRow<T> below = band_row<kScaled>(p, k + 1);
    const CyclicRow<T> next = cyclic_row(n, k, below.lower, below.diagonal, below.upper);
    RealOf<T> largest = device::absolute(running.own);
    int8_t choice = kRunningRow;
    if (device::absolute(next.own) > largest) choice = kNextRow, largest = device::absolute(next.own);
    if (device::absolute(last.own) > largest) choice = kLastRow, largest = device::absolute(last.own);
    const CyclicRow<T> pivot = choice == kRunningRow ? running : choice == kNextRow ? next : last;
    const CyclicRow<T> kept = choice == kNextRow ? running : next;
    const CyclicRow<T> kept_last = choice == kLastRow ? running : last;
    const bool is_zero = largest == RealOf<T>(0);
    if (is_zero && singular < 0) singular = k;
    const T multiplier = is_zero ? zero : divide(kept.own, pivot.own);
    const T last_multiplier = is_zero ? zero : divide(kept_last.own, pivot.own);
    f.at(F::kMultiplier, k) = multiplier;
    f.at(F::kLastMultiplier, k) = last_multiplier;
    f.at(F::kPivot, k) = pivot.own;
    f.at(F::kFirst, k) = choice == kNextRow ? below.diagonal : pivot.first;
    f.at(F::kSecond, k) = choice == kNextRow ? below.upper : pivot.far;
    f.at(F::kLastColumn, k) = choice == kNextRow ? zero : pivot.farthest;
    f.choice(k) = choice;
    running = eliminated(kept, multiplier, pivot);
    last = eliminated(kept_last, last_multiplier, pivot);
  }
  const bool exchange = device::absolute(last.far) > device::absolute(running.far);
  const CyclicRow<T> pivot = exchange ? last : running, kept = exchange ? running : last;
  const bool is_zero = device::absolute(pivot.far) == RealOf<T>(0);
  if (is_zero && singular < 0) singular = n - 2;
  const T multiplier = is_zero ? zero : divide(kept.far, pivot.far);
  f.at(F::kMultiplier, n - 2) = multiplier;
  f.at(F::kPivot, n - 2) = pivot.far;
  f.at(F::kLastColumn, n - 2) = pivot.farthest;
  f.choice(n - 2) = exchange ? kLastRow : kRunningRow;
  const T end = device::fma(-multiplier, pivot.farthest, kept.farthest);
  f.at(F::kPivot, n - 1) = end;
  if (device::absolute(end) == RealOf<T>(0) && singular < 0) singular = n - 1;
  return singular;
}

/// Solves with the factors of factor_pivoted; `in` and `out` may be the same line.
template <class T>
WARPLOOM_DEVICE void solve_pivoted(const PivotedFactors<T>& f, int64_t n, const Line<T>& in, const Line<T>& out) {
  using F = PivotedFactors<T>;
  struct Forward {
    T next, multiplier;
    int8_t choice;
  };
  struct Backward {
    T value, first, second, pivot;
  };
  T running = in.get(0);
  read_ahead<T>(
      n - 1, [&](int64_t k) { return Forward{in.get(k + 1), f.at(F::kMultiplier, k), f.choice(k)}; },
      [&](int64_t k, const Forward& row) {
        const bool exchange = row.choice == kNextRow;
        const T pivot = exchange ? row.next : running;
        out.set(k, pivot);
        running = device::fma(-row.multiplier, pivot, exchange ? running : row.next);
      });
  T above = divide(running, f.at(F::kPivot, n - 1)), second(0);
  out.set(n - 1, above);
  const int64_t last = n - 2;
  read_ahead<T>(
      n - 1,
      [&](int64_t i) {
        const int64_t k = last - i;
        return Backward{out.get(k), f.at(F::kFirst, k), f.at(F::kSecond, k), f.at(F::kPivot, k)};
      },
      [&](int64_t i, const Backward& row) {
        T sum = device::fma(-row.first, above, row.value);
        if (i > 0) sum = device::fma(-row.second, second, sum);
        second = above;
        above = divide(sum, row.pivot);
        out.set(last - i, above);
      });
}

/// Solves with the factors of factor_cyclic; `in` and `out` may be the same line.
template <class T>
WARPLOOM_DEVICE void solve_cyclic(const PivotedFactors<T>& f, int64_t n, const Line<T>& in, const Line<T>& out) {
  using F = PivotedFactors<T>;
  T running = in.get(0);
  if (n == 1) return out.set(0, divide(running, f.at(F::kPivot, 0)));
  T last = in.get(n - 1);
  for (int64_t k = 0; k + 2 < n; ++k) {
    const T next = in.get(k + 1);
    const int8_t choice = f.choice(k);
    const T pivot = choice == kRunningRow ? running : choice == kNextRow ? next : last;
    const T kept = choice == kNextRow ? running : next;
    const T kept_last = choice == kLastRow ? running : last;
    out.set(k, pivot);
    running = device::fma(-f.at(F::kMultiplier, k), pivot, kept);
    last = device::fma(-f.at(F::kLastMultiplier, k), pivot, kept_last);
  }
  const bool exchange = f.choice(n - 2) == kLastRow;
  const T pivot = exchange ? last : running;
  const T end = device::fma(-f.at(F::kMultiplier, n - 2), pivot, exchange ? running : last);
  const T farthest = divide(end, f.at(F::kPivot, n - 1));
  const T far = divide(device::fma(-f.at(F::kLastColumn, n - 2), farthest, pivot), f.at(F::kPivot, n - 2));
  out.set(n - 1, farthest);
  out.set(n - 2, far);
  T above = far, second = farthest;
  for (int64_t k = n - 3; k >= 0; --k) {
    T sum = device::fma(-f.at(F::kLastColumn, k), farthest, out.get(k));
    sum = device::fma(-f.at(F::kSecond, k), f.choice(k) == kNextRow ? second : far, sum);
    sum = device::fma(-f.at(F::kFirst, k), above, sum);
    second = above;
    above = divide(sum, f.at(F::kPivot, k));
    out.set(k, above);
  }
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
