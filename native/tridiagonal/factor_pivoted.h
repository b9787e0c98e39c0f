// LU factorisation with row exchanges of tridiagonal and periodic matrices, and the solves with it. Stores are
// FactorStore (vectors of lanes) or LaneStore (one lane). Include once per instruction set.
#pragma once
#include "native/tridiagonal/algorithms.h"
#include "native/tridiagonal/factor_store.h"
#include "native/tridiagonal/residual.h"

namespace warploom::cpu::WARPLOOM_ISA {

/// Values for put_choice: the pivot row was the running row, the next row, or (periodic) the last row.
inline constexpr int kRunningRow = 0, kNextRow = 1, kLastRowOfAll = 2;

/// gttrf: multipliers, three diagonals of U, and where rows were exchanged.
template <class S, class Store>
void factor_pivoted(const System<S>& s, const Store& store, Tile<S>& t) {
  using F = FactorStore<S>;
  using V = LanesType<S>;
  const S zero = constant<S>(0);
  S d = s.diagonal[0], u = s.upper[0];
  for (int64_t i = 0; i + 1 < s.n; ++i) {
    const S l = s.lower[i + 1], next_d = s.diagonal[i + 1], next_u = s.upper[i + 1];
    const auto swap = absolute(d) < absolute(l);
    const S pivot = select(swap, l, d), first = select(swap, next_d, u), second = select(swap, next_u, zero);
    note_pivot(t, pivot, i);
    const S factor = select(swap, d, l) / pivot;
    store.put(F::kMultiplier, i, factor);
    store.put(F::kPivot, i, pivot);
    store.put(F::kFirst, i, first);
    store.put(F::kSecond, i, second);
    store.put_choice(i, select(swap, broadcast<V>(kNextRow), broadcast<V>(kRunningRow)));
    d = select(swap, u, next_d) - factor * first;
    u = select(swap, zero, next_u) - factor * second;
  }
  note_pivot(t, d, s.n - 1);
  store.put(F::kPivot, s.n - 1, d);
}

/// gttrs, in place.
template <class S, class Store>
void solve_pivoted(const Store& store, int64_t n, S* x) {
  using F = FactorStore<S>;
  S b = x[0];
  for (int64_t i = 0; i + 1 < n; ++i) {
    const auto kept = is_zero(store.choice(i));
    const S next = x[i + 1];
    x[i] = select(kept, b, next);
    b = select(kept, next, b) - store.get(F::kMultiplier, i) * x[i];
  }
  x[n - 1] = b;
  for (int64_t i = n - 1; i >= 0; --i) {
    if (i + 1 < n) x[i] = x[i] - store.get(F::kFirst, i) * x[i + 1];
    if (i + 2 < n) x[i] = x[i] - store.get(F::kSecond, i) * x[i + 2];
    x[i] = x[i] / store.get(F::kPivot, i);
  }
}

/// A row during periodic elimination: its entries in columns k, k+1, k+2, n-2 and n-1. An entry in one of the last two
/// columns is kept there, not in `first` or `second`.
template <class S>
struct CyclicRow {
  S own, first, second, far, farthest;
};
template <class S, class B>
WARPLOOM_INLINE CyclicRow<S> select(const B& m, const CyclicRow<S>& a, const CyclicRow<S>& b) {
  return {select(m, a.own, b.own), select(m, a.first, b.first), select(m, a.second, b.second),
          select(m, a.far, b.far), select(m, a.farthest, b.farthest)};
}
/// row - multiplier * pivot, shifted by one column.
template <class S>
WARPLOOM_INLINE CyclicRow<S> eliminated(const CyclicRow<S>& row, const S& multiplier, const CyclicRow<S>& pivot) {
  return {row.first - multiplier * pivot.first, row.second - multiplier * pivot.second, constant<S>(0),
          row.far - multiplier * pivot.far, row.farthest - multiplier * pivot.farthest};
}
/// Row k+1 of a periodic matrix, k < n-2, relative to column k.
template <class S>
WARPLOOM_INLINE CyclicRow<S> cyclic_row(int64_t n, int64_t k, const S& lower, const S& diagonal, const S& upper) {
  const S zero = constant<S>(0);
  return {lower, k + 3 < n ? diagonal : zero, k + 4 < n ? upper : zero,
          k + 3 == n ? diagonal : k + 4 == n ? upper : zero, k + 3 == n ? upper : zero};
}

/// LU factorisation of a periodic matrix of n >= 3 rows, pivoted as a whole (no leading part is assumed to be regular).
/// Column k < n-2 has entries in three rows only: the running row, row k+1, and row n-1 or the row that replaced it.
/// The largest is the pivot. kSecond holds the coefficient of x[k+2] if row k+1 is the pivot row, otherwise that of
/// x[n-2].
template <class S, class Store>
void factor_cyclic(const System<S>& s, const Store& store, Tile<S>& t) {
  using F = FactorStore<S>;
  using V = LanesType<S>;
  const int64_t n = s.n;
  const S zero = constant<S>(0);
  CyclicRow<S> running = {s.diagonal[0], n > 3 ? s.upper[0] : zero, zero, n == 3 ? s.upper[0] : zero, s.top};
  CyclicRow<S> last = {s.bottom, zero, zero, s.lower[n - 1], s.diagonal[n - 1]};
  for (int64_t k = 0; k + 2 < n; ++k) {
    const S &diagonal = s.diagonal[k + 1], &upper = s.upper[k + 1];
    const CyclicRow<S> next = cyclic_row(n, k, s.lower[k + 1], diagonal, upper);
    const auto below = absolute(running.own) < absolute(next.own);
    const auto at_end = select(below, absolute(next.own), absolute(running.own)) < absolute(last.own);
    const CyclicRow<S> nearer = select(below, next, running), other = select(below, running, next);
    const CyclicRow<S> pivot = select(at_end, last, nearer);
    const CyclicRow<S> kept = select(at_end, next, other), kept_last = select(at_end, running, last);
    note_pivot(t, pivot.own, k);
    const S multiplier = kept.own / pivot.own, last_multiplier = kept_last.own / pivot.own;
    const V choice = select(at_end, broadcast<V>(kLastRowOfAll),
                            select(below, broadcast<V>(kNextRow), broadcast<V>(kRunningRow)));
    const auto is_next = choice == broadcast<V>(kNextRow);
    store.put(F::kMultiplier, k, multiplier);
    store.put(F::kLastMultiplier, k, last_multiplier);
    store.put(F::kPivot, k, pivot.own);
    store.put(F::kFirst, k, select(is_next, diagonal, pivot.first));
    store.put(F::kSecond, k, select(is_next, upper, pivot.far));
    store.put(F::kLastColumn, k, select(is_next, zero, pivot.farthest));
    store.put_choice(k, choice);
    running = eliminated(kept, multiplier, pivot);
    last = eliminated(kept_last, last_multiplier, pivot);
  }
  const auto exchange = absolute(running.far) < absolute(last.far);
  const CyclicRow<S> pivot = select(exchange, last, running), kept = select(exchange, running, last);
  note_pivot(t, pivot.far, n - 2);
  const S multiplier = kept.far / pivot.far;
  store.put(F::kMultiplier, n - 2, multiplier);
  store.put(F::kPivot, n - 2, pivot.far);
  store.put(F::kLastColumn, n - 2, pivot.farthest);
  store.put_choice(n - 2, select(exchange, broadcast<V>(kLastRowOfAll), broadcast<V>(kRunningRow)));
  const S end = kept.farthest - multiplier * pivot.farthest;
  note_pivot(t, end, n - 1);
  store.put(F::kPivot, n - 1, end);
}

/// Solves in place with the factors of factor_cyclic.
template <class S, class Store>
void solve_cyclic(const Store& store, int64_t n, S* x) {
  using F = FactorStore<S>;
  using V = LanesType<S>;
  S running = x[0], last = x[n - 1];
  for (int64_t k = 0; k + 2 < n; ++k) {
    const S next = x[k + 1];
    const V choice = store.choice(k);
    const auto is_next = choice == broadcast<V>(kNextRow), is_last = choice == broadcast<V>(kLastRowOfAll);
    const S pivot = select(is_last, last, select(is_next, next, running));
    x[k] = pivot;
    const S kept_last = select(is_last, running, last);
    running = select(is_next, running, next) - store.get(F::kMultiplier, k) * pivot;
    last = kept_last - store.get(F::kLastMultiplier, k) * pivot;
  }
  const auto exchange = store.choice(n - 2) == broadcast<V>(kLastRowOfAll);
  const S pivot = select(exchange, last, running);
  const S end = select(exchange, running, last) - store.get(F::kMultiplier, n - 2) * pivot;
  const S farthest = end / store.get(F::kPivot, n - 1);
  const S far = (pivot - store.get(F::kLastColumn, n - 2) * farthest) / store.get(F::kPivot, n - 2);
  x[n - 1] = farthest;
  x[n - 2] = far;
  S above = far, second = farthest;
  for (int64_t k = n - 3; k >= 0; --k) {
    const auto is_next = store.choice(k) == broadcast<V>(kNextRow);
    S sum = x[k] - store.get(F::kLastColumn, k) * farthest;
    sum = sum - store.get(F::kSecond, k) * select(is_next, second, far);
    sum = sum - store.get(F::kFirst, k) * above;
    second = above;
    above = sum / store.get(F::kPivot, k);
    x[k] = above;
  }
}

}  // namespace warploom::cpu::WARPLOOM_ISA
