// Gaussian elimination with partial pivoting on chunks of consecutive rows, below the tree of merges
// (pivoting_merge.cuh). Rows are first scaled by powers of two (row_scale.cuh), so that their units do not affect the
// choice of pivots.
//
// A chunk of rows i…i+depth-1 keeps two of its unknowns, x[i] (`first`) and x[i+depth-1] (`last`), and eliminates the
// others. An inner column k has entries in three rows only: the chunk's first row, which is carried along as a spike,
// the running row, and row k+1. The largest of the three is the pivot, so this is elimination with full partial
// pivoting in another column order (compare the partition of Klein and Strzodka, ICPP 2021, which eliminates twice with
// two candidates each). Two rows remain, in the unknowns (previous, first, last, next). Two neighbouring chunks have
// four such rows. Eliminating the left one's last and the right one's first unknown, again with every row a candidate,
// leaves two rows of the same form, and so on up to a single chunk, which is a 2 by 2 system.
//
// Pivot rows are divided by their pivots and stored in place of the rows they come from. An inner row needs four
// numbers, a merge nine and one bit, so matrix, factors and reduced systems share one buffer of little more than four
// numbers per row.
#pragma once
#include <cmath>

#include "cuda/core/complex.cuh"
#include "cuda/core/device.cuh"
#include "cuda/tridiagonal/verify/problem_rows.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// A reduced row: coefficients of (previous, first, last, next) and the right-hand side.
template <class T>
struct OuterRow {
  T outer[4];
  T rhs;
};
/// The result of a chunk's elimination.
template <class T>
struct OuterRows {
  OuterRow<T> row[2];
};
/// Values of the four unknowns next to and at the ends of a chunk: previous, first, last, next.
template <class T>
struct OuterValues {
  T value[4];
};

/// Shared memory for the chunks of a block, one per thread: four arrays of lanes * depth entries (initially lower,
/// diagonal, upper, rhs) and two of one entry per lane. depth is odd, so that lanes that advance in step access
/// different banks.
template <class T>
struct ChunkStore {
  T* words = nullptr;
  int depth = 3;
  int lanes = 0;

  static WARPLOOM_HOST_DEVICE int64_t entries(int64_t lanes, int64_t depth) { return lanes * (4 * depth + 2); }
  WARPLOOM_DEVICE T* array(int which) const { return words + which * lanes * depth; }
  /// The lane's slot w (0…9) for its reduced rows or a merge: array entries that its first and last row no longer need.
  WARPLOOM_DEVICE T& slot(int w, int lane) const {
    if (w < 4) return words[w * lanes * depth + lane * depth];
    if (w < 8) return words[(w - 4) * lanes * depth + lane * depth + depth - 1];
    return words[4 * lanes * depth + (w - 8) * lanes + lane];
  }
  WARPLOOM_DEVICE OuterRows<T> rows(int lane) const {
    OuterRows<T> result;
    WARPLOOM_UNROLL
    for (int r = 0; r < 2; ++r) {
      WARPLOOM_UNROLL
      for (int c = 0; c < 4; ++c) result.row[r].outer[c] = slot(5 * r + c, lane);
      result.row[r].rhs = slot(5 * r + 4, lane);
    }
    return result;
  }
  WARPLOOM_DEVICE void set_rows(int lane, const OuterRows<T>& rows) const {
    WARPLOOM_UNROLL
    for (int r = 0; r < 2; ++r) {
      WARPLOOM_UNROLL
      for (int c = 0; c < 4; ++c) slot(5 * r + c, lane) = rows.row[r].outer[c];
      slot(5 * r + 4, lane) = rows.row[r].rhs;
    }
  }
  /// Values occupy the slots from 0 on, once the reduced rows there have been used.
  WARPLOOM_DEVICE OuterValues<T> values(int lane) const {
    OuterValues<T> result;
    WARPLOOM_UNROLL
    for (int c = 0; c < 4; ++c) result.value[c] = slot(c, lane);
    return result;
  }
  WARPLOOM_DEVICE void set_values(int lane, const OuterValues<T>& values) const {
    WARPLOOM_UNROLL
    for (int c = 0; c < 4; ++c) slot(c, lane) = values.value[c];
  }
};

template <class T>
WARPLOOM_DEVICE T pick(bool condition, const T& yes, const T& no) {
  return condition ? yes : no;
}
template <class T>
WARPLOOM_DEVICE void exchange_if(bool condition, T& a, T& b) {
  const T old = a;
  a = pick(condition, b, a);
  b = pick(condition, old, b);
}
template <class T>
WARPLOOM_DEVICE T minus_product(const T& factor, const T& value, const T& from) {
  return device::fma(-factor, value, from);
}

/// 1 / pivot without branches. NaN for a zero, subnormal, huge or non-finite pivot. The NaN reaches the system's
/// answer, which is then refused and recomputed with scaled divisions.
template <class R>
WARPLOOM_DEVICE R pivot_inverse(const R& pivot) {
  bool ordinary = true;
  const R inverse = device::ordinary_reciprocal(pivot, ordinary);
  return pick(ordinary, inverse, R(NAN));
}
/// By Smith's scaling.
template <class R>
WARPLOOM_DEVICE Complex<R> pivot_inverse(const Complex<R>& pivot) {
  const bool real = device::absolute(pivot.re) >= device::absolute(pivot.im);
  const R large = pick(real, pivot.re, pivot.im), small = pick(real, pivot.im, pivot.re);
  const R ratio = small * pivot_inverse(large);
  const R scale = pivot_inverse(device::fma(small, ratio, large));
  return {pick(real, scale, ratio * scale), -pick(real, ratio * scale, scale)};
}

/// A row during the elimination of a chunk: coefficients of previous, first, columns k and k+1, and the right-hand
/// side.
template <class T>
struct SpikeRow {
  T previous, first, own, above, rhs;
};

/// Row k of a lane's chunk, scaled by its row_powers().
template <class T>
struct ChunkRow {
  T lower, diagonal, upper, rhs;
};
template <class T>
WARPLOOM_DEVICE ChunkRow<T> scaled_row(const T& lower, const T& diagonal, const T& upper, const T& rhs) {
  const RealOf<T> scale = row_powers(lower, diagonal, upper).down;
  return {times(scale, lower), times(scale, diagonal), times(scale, upper), times(scale, rhs)};
}

/// Eliminates the inner unknowns of one lane's chunk, and stores its pivot rows. If bit k of the result is set, the
/// pivot row of column k is the original row k+1 (coefficients of x[k+1] and x[k+2]); otherwise it is a running row
/// (x[k+1], first, previous).
template <class T>
WARPLOOM_DEVICE uint32_t eliminate_chunk(const ChunkStore<T>& store, int lane, OuterRows<T>* left) {
  const int depth = store.depth, base = lane * depth;
  T* const lower = store.array(0) + base;
  T* const diagonal = store.array(1) + base;
  T* const upper = store.array(2) + base;
  T* const rhs = store.array(3) + base;
  const T zero(0);
  const ChunkRow<T> row0 = scaled_row(lower[0], diagonal[0], upper[0], rhs[0]);
  const ChunkRow<T> row1 = scaled_row(lower[1], diagonal[1], upper[1], rhs[1]);
  SpikeRow<T> spike{row0.lower, row0.diagonal, row0.upper, zero, row0.rhs};
  SpikeRow<T> running{zero, row1.lower, row1.diagonal, row1.upper, row1.rhs};
  uint32_t next_rows = 0, bit = 2;
  const auto step = [&](int k) {
    const ChunkRow<T> next = scaled_row(lower[k + 1], diagonal[k + 1], upper[k + 1], rhs[k + 1]);
    const T next_own = next.lower, next_above = next.diagonal, next_second = next.upper, next_rhs = next.rhs;
    const bool spike_wins = device::absolute(spike.own) > device::absolute(running.own);
    exchange_if(spike_wins, spike, running);
    const bool next_wins = device::absolute(next_own) > device::absolute(running.own);
    next_rows |= next_wins ? bit : 0;
    const T inverse = pivot_inverse(pick(next_wins, next_own, running.own));
    const T above = pick(next_wins, next_above, running.above) * inverse;
    const T side = pick(next_wins, next_second, running.first) * inverse;
    const T previous = pick(next_wins, zero, running.previous * inverse);
    const T value = pick(next_wins, next_rhs, running.rhs) * inverse;
    upper[k] = previous;
    lower[k] = above;
    diagonal[k] = side;
    rhs[k] = value;
    const T first = pick(next_wins, zero, side), second = pick(next_wins, side, zero);
    const T other = pick(next_wins, running.own, next_own);
    // The remaining row of (running, next), then the spike row.
    SpikeRow<T> kept;
    kept.previous = minus_product(other, previous, pick(next_wins, running.previous, zero));
    kept.first = minus_product(other, first, pick(next_wins, running.first, zero));
    kept.own = minus_product(other, above, pick(next_wins, running.above, next_above));
    kept.above = minus_product(other, second, pick(next_wins, zero, next_second));
    kept.rhs = minus_product(other, value, pick(next_wins, running.rhs, next_rhs));
    const T spike_own = spike.own;
    spike.previous = minus_product(spike_own, previous, spike.previous);
    spike.first = minus_product(spike_own, first, spike.first);
    spike.own = minus_product(spike_own, above, spike.above);
    spike.above = minus_product(spike_own, second, zero);
    spike.rhs = minus_product(spike_own, value, spike.rhs);
    running = kept;
    bit *= 2;
  };
  // An odd number of rows: after the first, rows are handled in pairs, so that they swap roles without being moved.
  step(1);
  WARPLOOM_NO_UNROLL
  for (int k = 2; k + 1 < depth; k += 2) {
    step(k);
    step(k + 1);
  }
  left->row[0] = {{running.previous, running.first, running.own, running.above}, running.rhs};
  left->row[1] = {{spike.previous, spike.first, spike.own, spike.above}, spike.rhs};
  return next_rows;
}

/// Computes the inner unknowns of a lane's chunk from its four outer ones; the rhs array becomes the solution.
template <class T>
WARPLOOM_DEVICE void substitute_chunk(const ChunkStore<T>& store, int lane, uint32_t next_rows,
                                      const OuterValues<T>& values) {
  const int depth = store.depth, base = lane * depth;
  const T* const above_of = store.array(0) + base;
  const T* const side_of = store.array(1) + base;
  const T* const previous_of = store.array(2) + base;
  T* const x = store.array(3) + base;
  const T previous = values.value[0], first = values.value[1];
  T above = values.value[2], second = values.value[3];
  x[depth - 1] = above;
  const auto step = [&](int k) {
    const T side = pick((next_rows >> k & 1u) != 0, second, first);
    T own = minus_product(previous_of[k], previous, x[k]);
    own = minus_product(side_of[k], side, own);
    own = minus_product(above_of[k], above, own);
    x[k] = own;
    second = above;
    above = own;
  };
  WARPLOOM_NO_UNROLL
  for (int k = depth - 2; k > 1; k -= 2) {
    step(k);
    step(k - 1);
  }
  step(1);
  x[0] = first;
}

/// A chunk's solution in its thread's own memory, while the correction is computed in the solution's place.
template <class T>
struct KeptChunk {
  static constexpr int kMostDepth = 17;
  T x[kMostDepth];

  /// Takes x, and moves the residual from the place of `lower` to the place of the right-hand side.
  WARPLOOM_DEVICE void take(const ChunkStore<T>& store, int lane) {
    T* const rhs = store.array(3) + lane * store.depth;
    const T* const residual = store.array(0) + lane * store.depth;
    WARPLOOM_NO_UNROLL
    for (int k = 0; k < store.depth; ++k) {
      x[k] = rhs[k];
      rhs[k] = residual[k];
    }
  }
  /// Adds the correction if `wanted`.
  WARPLOOM_DEVICE void put(const ChunkStore<T>& store, int lane, bool wanted) const {
    T* const correction = store.array(3) + lane * store.depth;
    WARPLOOM_NO_UNROLL
    for (int k = 0; k < store.depth; ++k) correction[k] = wanted ? corrected(x[k], correction[k]) : x[k];
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
