// Periodic systems of a tile: the border method around any solver, and partial pivoting proper.
// Include after algorithms.h, once per instruction set. Rows: n >= 3.
#pragma once
#include "native/tridiagonal/algorithms.h"

namespace warploom::cpu::WARPLOOM_ISA {

/// A row of the pivoted elimination: columns i, i+1, i+2, n-2 and n-1, and the right-hand side.
template <class S>
struct BorderedRow {
  S p0, p1, p2, qa, qb, rhs;
};

template <class S, class B>
WARPLOOM_INLINE void exchange(const B& swap, BorderedRow<S>& a, BorderedRow<S>& b) {
  const BorderedRow<S> old = a;
  a = {select(swap, b.p0, a.p0), select(swap, b.p1, a.p1), select(swap, b.p2, a.p2),
       select(swap, b.qa, a.qa), select(swap, b.qb, a.qb), select(swap, b.rhs, a.rhs)};
  b = {select(swap, old.p0, b.p0), select(swap, old.p1, b.p1), select(swap, old.p2, b.p2),
       select(swap, old.qa, b.qa), select(swap, old.qb, b.qb), select(swap, old.rhs, b.rhs)};
}

/// row - (row.p0 / pivot.p0) * pivot, shifted by one column.
template <class S>
WARPLOOM_INLINE BorderedRow<S> eliminate(const BorderedRow<S>& row, const BorderedRow<S>& pivot) {
  const S f = row.p0 / pivot.p0;
  return {row.p1 - f * pivot.p1, row.p2 - f * pivot.p2, constant<S>(0),
          row.qa - f * pivot.qa, row.qb - f * pivot.qb, row.rhs - f * pivot.rhs};
}

/// Dense elimination with partial pivoting of the last m <= 4 columns; rows of `a` have m + 1 entries.
template <class S>
void solve_dense(Tile<S>& t, S (*a)[5], int m, S* x) {
  for (int k = 0; k < m; ++k) {
    for (int r = k + 1; r < m; ++r) {
      const auto swap = absolute(a[k][k]) < absolute(a[r][k]);
      for (int c = k; c <= m; ++c) {
        const S old = a[k][c];
        a[k][c] = select(swap, a[r][c], a[k][c]);
        a[r][c] = select(swap, old, a[r][c]);
      }
    }
    note_pivot(t, a[k][k], t.n - m + k);
    for (int r = k + 1; r < m; ++r) {
      const S f = a[r][k] / a[k][k];
      for (int c = k + 1; c <= m; ++c) a[r][c] = a[r][c] - f * a[k][c];
    }
  }
  for (int k = m - 1; k >= 0; --k) {
    S value = a[k][m];
    for (int c = k + 1; c < m; ++c) value = value - a[k][c] * x[c];
    x[k] = value / a[k][k];
  }
}

/// The last four (or all three) rows as a dense matrix: the carried row, rows n-3 and n-2, the last.
template <class S>
int last_rows(const Tile<S>& t, const BorderedRow<S>& carried, const BorderedRow<S>& last,
              S (*a)[5]) {
  const int64_t n = t.n;
  const S zero = constant<S>(0);
  if (n == 3) {  // carried is row 0 with columns 0, 1 = n-2, 2 = n-1
    const ScaledRow<S> middle(t, 1);
    const S rows[3][4] = {{carried.p0, carried.qa, carried.qb, carried.rhs},
                          {middle.lower, middle.diagonal, middle.upper, middle.rhs},
                          {last.p0, last.qa, last.qb, last.rhs}};
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 4; ++c) a[r][c] = rows[r][c];
    }
    return 3;
  }
  const ScaledRow<S> third(t, n - 3), second(t, n - 2);
  const S rows[4][5] = {
      {carried.p0, carried.p1, carried.qa, carried.qb, carried.rhs},
      {third.lower, third.diagonal, third.upper, zero, third.rhs},
      {zero, second.lower, second.diagonal, second.upper, second.rhs},
      {last.p0, last.p1, last.qa, last.qb, last.rhs}};
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c < 5; ++c) a[r][c] = rows[r][c];
  }
  return 4;
}

/// Partial pivoting of scaled rows in a periodic system, with every candidate row (the next and the last). `top`
/// couples row 0 to x[n-1], `bottom` couples row n-1 to x[0]. Work: 5 n entries.
template <class S>
void solve_pivoting_periodic(Tile<S>& t, const S& top, const S& bottom) {
  const int64_t n = t.n;
  S *p0 = t.work, *p1 = p0 + n, *p2 = p1 + n, *qa = p2 + n, *qb = qa + n;
  const S zero = constant<S>(0);
  const auto first_scale = row_scale(top, t.diagonal[0], t.upper[0]);
  const auto last_scale = row_scale(t.lower[n - 1], t.diagonal[n - 1], bottom);
  BorderedRow<S> carried = {times(first_scale, t.diagonal[0]), times(first_scale, t.upper[0]), zero, zero,
                            times(first_scale, top), t.scaled_rhs ? t.rhs[0] : times(first_scale, t.rhs[0])};
  BorderedRow<S> last = {times(last_scale, bottom), zero, zero, times(last_scale, t.lower[n - 1]),
                         times(last_scale, t.diagonal[n - 1]),
                         t.scaled_rhs ? t.rhs[n - 1] : times(last_scale, t.rhs[n - 1])};
  if (n == 3) {
    carried.qa = carried.p1;
    carried.p1 = zero;
  }
  int64_t i = 0;
  for (; i + 5 <= n; ++i) {
    const ScaledRow<S> row(t, i + 1);
    BorderedRow<S> next = {row.lower, row.diagonal, row.upper, zero, zero, row.rhs};
    exchange(absolute(carried.p0) < absolute(next.p0), carried, next);
    exchange(absolute(carried.p0) < absolute(last.p0), carried, last);
    note_pivot(t, carried.p0, i);
    p0[i] = carried.p0;
    p1[i] = carried.p1;
    p2[i] = carried.p2;
    qa[i] = carried.qa;
    qb[i] = carried.qb;
    t.x[i] = carried.rhs;
    last = eliminate(last, carried);
    carried = eliminate(next, carried);
  }
  S a[4][5];
  const int m = last_rows(t, carried, last, a);
  S* end = t.x + (n - m);
  solve_dense(t, a, m, end);
  for (i = n - m - 1; i >= 0; --i) {
    const S value = t.x[i] - p1[i] * t.x[i + 1] - p2[i] * t.x[i + 2] - qa[i] * t.x[n - 2] -
                    qb[i] * t.x[n - 1];
    t.x[i] = value / p0[i];
  }
}

}  // namespace warploom::cpu::WARPLOOM_ISA
