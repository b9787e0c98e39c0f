// The solvers for one tile: kLanes systems of n rows side by side. Include after lanes.h, once per instruction set too.
#pragma once
#include "native/linear/magnitude.h"

namespace warploom::cpu::WARPLOOM_ISA {

/// Systems of equal length, lane by lane: arrays of n entries. lower[0] and upper[n-1] are zero.
/// `work` has kWorkArrays * n entries. zero_row collects the first row with a zero pivot, else -1.
template <class S>
struct Tile {
  int64_t n = 0;
  const S *lower = nullptr, *diagonal = nullptr, *upper = nullptr, *rhs = nullptr;
  S* x = nullptr;
  S* work = nullptr;
  IndexType<S> zero_row{};
  bool scaled_rhs = false;  ///< for the pivoting solvers: rhs was scaled with its rows by row_scale()
};
inline constexpr int64_t kWorkArrays = 9;

/// The power of two that scales the largest entry of a row to about one. Scaling by it causes no rounding, and scaled
/// rows can be compared as pivot rows, whatever units they were written in.
template <class S>
WARPLOOM_INLINE LanesType<S> row_scale(const S& lower, const S& diagonal, const S& upper) {
  return powers_of(larger(larger(absolute(lower), absolute(diagonal)), absolute(upper))).down;
}

/// Keeps each lane's first row with a zero pivot.
template <class S>
WARPLOOM_INLINE void note_pivot(Tile<S>& t, const S& pivot, int64_t row) {
  const auto here = index_lanes<LanesType<S>>(row), none = index_lanes<LanesType<S>>(0);
  const auto first = (t.zero_row < none) | (here < t.zero_row);
  t.zero_row = select(is_zero(pivot) & first, here, t.zero_row);
}

/// Thomas elimination (Gaussian elimination without row exchange), one reciprocal per row.
template <class S>
void solve_thomas(Tile<S>& t) {
  S* ratio = t.work;
  note_pivot(t, t.diagonal[0], 0);
  S inverse = reciprocal(t.diagonal[0]);
  ratio[0] = t.upper[0] * inverse;
  t.x[0] = t.rhs[0] * inverse;
  for (int64_t i = 1; i < t.n; ++i) {
    const S pivot = t.diagonal[i] - t.lower[i] * ratio[i - 1];
    note_pivot(t, pivot, i);
    inverse = reciprocal(pivot);
    ratio[i] = t.upper[i] * inverse;
    t.x[i] = (t.rhs[i] - t.lower[i] * t.x[i - 1]) * inverse;
  }
  for (int64_t i = t.n - 2; i >= 0; --i) t.x[i] = t.x[i] - ratio[i] * t.x[i + 1];
}

/// Four bands in their own memory, for algorithms that overwrite them.
template <class S>
struct Rows {
  S *lower, *diagonal, *upper, *rhs;
  Rows(S* memory, int64_t n)
      : lower(memory), diagonal(memory + n), upper(memory + 2 * n), rhs(memory + 3 * n) {}
};

template <class S>
void copy_rows(const Tile<S>& t, const Rows<S>& to) {
  for (int64_t i = 0; i < t.n; ++i) {
    to.lower[i] = t.lower[i];
    to.diagonal[i] = t.diagonal[i];
    to.upper[i] = t.upper[i];
    to.rhs[i] = t.rhs[i];
  }
}

/// One level of the forward reduction of cyclic reduction (Hockney 1965): rows 2s-1, 4s-1, … absorb the rows s above
/// and below, whose diagonals become reciprocals.
template <class S>
void reduce_level(Tile<S>& t, const Rows<S>& r, int64_t s) {
  for (int64_t i = s - 1; i < t.n; i += 2 * s) {
    note_pivot(t, r.diagonal[i], i);
    r.diagonal[i] = reciprocal(r.diagonal[i]);
  }
  for (int64_t i = 2 * s - 1; i < t.n; i += 2 * s) {
    const int64_t a = i - s, b = i + s;
    const S above = r.lower[i] * r.diagonal[a];
    r.diagonal[i] = r.diagonal[i] - above * r.upper[a];
    r.rhs[i] = r.rhs[i] - above * r.rhs[a];
    r.lower[i] = -(above * r.lower[a]);
    if (b >= t.n) continue;
    const S below = r.upper[i] * r.diagonal[b];
    r.diagonal[i] = r.diagonal[i] - below * r.lower[b];
    r.rhs[i] = r.rhs[i] - below * r.rhs[b];
    r.upper[i] = -(below * r.upper[b]);
  }
}

/// One level of the back substitution: rows s-1, 3s-1, … from their solved neighbours.
template <class S>
void substitute_level(Tile<S>& t, const Rows<S>& r, int64_t s) {
  for (int64_t i = s - 1; i < t.n; i += 2 * s) {
    S value = r.rhs[i];
    if (i - s >= 0) value = value - r.lower[i] * t.x[i - s];
    if (i + s < t.n) value = value - r.upper[i] * t.x[i + s];
    t.x[i] = value * r.diagonal[i];
  }
}

/// Cyclic reduction down to one row; cr-regpack does the same elimination with another mapping.
template <class S>
void solve_cr(Tile<S>& t) {
  const Rows<S> r(t.work, t.n);
  copy_rows(t, r);
  int64_t s = 1;
  for (; s <= t.n; s *= 2) reduce_level(t, r, s);
  for (s /= 2; s >= 1; s /= 2) substitute_level(t, r, s);
}

/// One step of parallel cyclic reduction: every row absorbs its neighbours `s` away.
template <class S>
void reduce_parallel(Tile<S>& t, const Rows<S>& from, const Rows<S>& to, S* inverse, int64_t n,
                     int64_t s, int64_t row_scale) {
  for (int64_t i = 0; i < n; ++i) {
    note_pivot(t, from.diagonal[i], (i + 1) * row_scale - 1);
    inverse[i] = reciprocal(from.diagonal[i]);
  }
  for (int64_t i = 0; i < n; ++i) {
    S lower = constant<S>(0), diagonal = from.diagonal[i], upper = lower, rhs = from.rhs[i];
    if (i - s >= 0) {
      const S above = from.lower[i] * inverse[i - s];
      diagonal = diagonal - above * from.upper[i - s];
      rhs = rhs - above * from.rhs[i - s];
      lower = -(above * from.lower[i - s]);
    }
    if (i + s < n) {
      const S below = from.upper[i] * inverse[i + s];
      diagonal = diagonal - below * from.lower[i + s];
      rhs = rhs - below * from.rhs[i + s];
      upper = -(below * from.upper[i + s]);
    }
    to.lower[i] = lower;
    to.diagonal[i] = diagonal;
    to.upper[i] = upper;
    to.rhs[i] = rhs;
  }
}

/// Parallel cyclic reduction of `n` rows in r (9 n entries of memory from r.lower on). The solution of row i goes to
/// x[(i + 1) * row_scale - 1].
template <class S>
void finish_parallel(Tile<S>& t, S* memory, int64_t n, int64_t row_scale) {
  Rows<S> from(memory, n), to(memory + 4 * n, n);
  S* inverse = memory + 8 * n;
  for (int64_t s = 1; s < n; s *= 2) {
    reduce_parallel(t, from, to, inverse, n, s, row_scale);
    const Rows<S> swap = from;
    from = to;
    to = swap;
  }
  for (int64_t i = 0; i < n; ++i) {
    const int64_t row = (i + 1) * row_scale - 1;
    note_pivot(t, from.diagonal[i], row);
    t.x[row] = from.rhs[i] * reciprocal(from.diagonal[i]);
  }
}

template <class S>
void solve_pcr(Tile<S>& t) {
  copy_rows(t, Rows<S>(t.work, t.n));
  finish_parallel(t, t.work, t.n, 1);
}

/// Cyclic reduction until at most kParallelRows rows remain, then parallel cyclic reduction on those (Zhang, Cohen,
/// Owens 2010).
inline constexpr int64_t kParallelRows = 64;
template <class S>
void solve_cr_pcr(Tile<S>& t) {
  const Rows<S> r(t.work, t.n);
  copy_rows(t, r);
  int64_t s = 1;
  for (; t.n / s > kParallelRows; s *= 2) reduce_level(t, r, s);
  const int64_t left = t.n / s;
  // Rows s-1, 2s-1, … form the reduced system. 4 n + 9 * left entries fit the work memory, because left is at most 64.
  // If n is smaller than that, nothing was reduced and r itself can be overwritten.
  if (s == 1) {
    finish_parallel(t, t.work, t.n, 1);
    return;
  }
  const Rows<S> reduced(t.work + 4 * t.n, left);
  for (int64_t i = 0; i < left; ++i) {
    const int64_t row = (i + 1) * s - 1;
    reduced.lower[i] = r.lower[row];
    reduced.diagonal[i] = r.diagonal[row];
    reduced.upper[i] = r.upper[row];
    reduced.rhs[i] = r.rhs[row];
  }
  finish_parallel(t, t.work + 4 * t.n, left, s);
  for (s /= 2; s >= 1; s /= 2) substitute_level(t, r, s);
}

/// Parallel cyclic reduction into kSubsystems interleaved systems, then Thomas on each (the hybrid of Sakharnykh 2009;
/// Kim, Wu, Chang, Hwu 2011).
inline constexpr int64_t kSubsystems = 16;
template <class S>
void solve_pcr_thomas(Tile<S>& t) {
  const int64_t n = t.n;
  Rows<S> from(t.work, n), to(t.work + 4 * n, n);
  S* inverse = t.work + 8 * n;
  copy_rows(t, from);
  int64_t s = 1;
  for (; s < kSubsystems && s < n; s *= 2) {
    reduce_parallel(t, from, to, inverse, n, s, 1);
    const Rows<S> swap = from;
    from = to;
    to = swap;
  }
  S* ratio = inverse;
  for (int64_t i = 0; i < n; ++i) {
    S pivot = from.diagonal[i], value = from.rhs[i];
    if (i >= s) {
      pivot = pivot - from.lower[i] * ratio[i - s];
      value = value - from.lower[i] * t.x[i - s];
    }
    note_pivot(t, pivot, i);
    const S inverted = reciprocal(pivot);
    ratio[i] = from.upper[i] * inverted;
    t.x[i] = value * inverted;
  }
  for (int64_t i = n - 1 - s; i >= 0; --i) t.x[i] = t.x[i] - ratio[i] * t.x[i + s];
}

/// One row of a tile with its right-hand side, scaled by row_scale().
template <class S>
struct ScaledRow {
  S lower, diagonal, upper, rhs;
  WARPLOOM_INLINE ScaledRow(const Tile<S>& t, int64_t i) {
    const auto scale = row_scale(t.lower[i], t.diagonal[i], t.upper[i]);
    lower = times(scale, t.lower[i]);
    diagonal = times(scale, t.diagonal[i]);
    upper = times(scale, t.upper[i]);
    rhs = t.scaled_rhs ? t.rhs[i] : times(scale, t.rhs[i]);
  }
};

/// Gaussian elimination with partial pivoting of scaled rows, in the order of LAPACK gtsv; rows are exchanged by
/// selection.
template <class S>
void solve_pivoting(Tile<S>& t) {
  const int64_t n = t.n;
  S *pivots = t.work, *first = t.work + n, *second = t.work + 2 * n;
  const S zero = constant<S>(0);
  const ScaledRow<S> top(t, 0);
  S d = top.diagonal, u = top.upper, b = top.rhs;
  for (int64_t i = 0; i + 1 < n; ++i) {
    const ScaledRow<S> next(t, i + 1);
    const auto swap = absolute(d) < absolute(next.lower);
    pivots[i] = select(swap, next.lower, d);
    first[i] = select(swap, next.diagonal, u);
    second[i] = select(swap, next.upper, zero);
    t.x[i] = select(swap, next.rhs, b);
    note_pivot(t, pivots[i], i);
    const S factor = select(swap, d, next.lower) / pivots[i];
    d = select(swap, u, next.diagonal) - factor * first[i];
    u = select(swap, zero, next.upper) - factor * second[i];
    b = select(swap, b, next.rhs) - factor * t.x[i];
  }
  note_pivot(t, d, n - 1);
  t.x[n - 1] = b / d;
  if (n > 1) t.x[n - 2] = (t.x[n - 2] - first[n - 2] * t.x[n - 1]) / pivots[n - 2];
  for (int64_t i = n - 3; i >= 0; --i) {
    t.x[i] = (t.x[i] - first[i] * t.x[i + 1] - second[i] * t.x[i + 2]) / pivots[i];
  }
}

}  // namespace warploom::cpu::WARPLOOM_ISA
