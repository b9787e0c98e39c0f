// The tree of merges above the chunks of a block (pivoting_chunk.cuh).
#pragma once
#include "cuda/tridiagonal/pivoting/pivoting_chunk.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Pivot rows of a merge, divided by their pivots. The first eliminates u, the left chunk's last unknown. It has v, the
/// right chunk's first unknown, and two outer unknowns of the side it comes from. The second eliminates v, and has four
/// outer unknowns.
template <class T>
struct MergeRows {
  T inner, pair[2], value;
  bool from_right;
  T outer[4], second_value;
};

/// A row of a merge once u is eliminated: v, the four outer unknowns, right-hand side.
template <class T>
struct HalfRow {
  T inner;
  T outer[4];
  T rhs;
};

/// row minus its u times the first pivot row. `left`: the row's own outer unknowns are previous and first.
template <class T>
WARPLOOM_DEVICE HalfRow<T> without_u(const T& own, const T& inner, const T& outer0, const T& outer1, const T& rhs,
                                     bool left, const MergeRows<T>& m) {
  // If both come from the same side, the pivot's pair coincides with the row's own pair.
  const bool same = left != m.from_right;
  const T zero(0);
  const T step0 = minus_product(own, m.pair[0], pick(same, outer0, zero));
  const T step1 = minus_product(own, m.pair[1], pick(same, outer1, zero));
  const T kept0 = pick(same, zero, outer0), kept1 = pick(same, zero, outer1);
  HalfRow<T> result;
  result.inner = minus_product(own, m.inner, inner);
  result.outer[0] = pick(m.from_right, kept0, step0);
  result.outer[1] = pick(m.from_right, kept1, step1);
  result.outer[2] = pick(m.from_right, step0, kept0);
  result.outer[3] = pick(m.from_right, step1, kept1);
  result.rhs = minus_product(own, m.value, rhs);
  return result;
}

/// Eliminates the two unknowns between neighbouring chunks; `left` becomes the merged chunk's rows.
template <class T>
WARPLOOM_DEVICE MergeRows<T> merge(OuterRows<T>* left, OuterRows<T> right) {
  OuterRow<T>* const l = left->row;
  OuterRow<T>* const r = right.row;
  exchange_if(device::absolute(l[1].outer[2]) > device::absolute(l[0].outer[2]), l[0], l[1]);
  exchange_if(device::absolute(r[1].outer[0]) > device::absolute(r[0].outer[0]), r[0], r[1]);
  MergeRows<T> m;
  m.from_right = device::absolute(r[0].outer[0]) > device::absolute(l[0].outer[2]);
  const T inverse = pivot_inverse(pick(m.from_right, r[0].outer[0], l[0].outer[2]));
  m.inner = pick(m.from_right, r[0].outer[1], l[0].outer[3]) * inverse;
  m.pair[0] = pick(m.from_right, r[0].outer[2], l[0].outer[0]) * inverse;
  m.pair[1] = pick(m.from_right, r[0].outer[3], l[0].outer[1]) * inverse;
  m.value = pick(m.from_right, r[0].rhs, l[0].rhs) * inverse;
  // The loser of the two largest; it is a left row if the pivot came from the right.
  HalfRow<T> rows[3] = {
      without_u(l[1].outer[2], l[1].outer[3], l[1].outer[0], l[1].outer[1], l[1].rhs, true, m),
      without_u(r[1].outer[0], r[1].outer[1], r[1].outer[2], r[1].outer[3], r[1].rhs, false, m),
      without_u(pick(m.from_right, l[0].outer[2], r[0].outer[0]), pick(m.from_right, l[0].outer[3], r[0].outer[1]),
                pick(m.from_right, l[0].outer[0], r[0].outer[2]), pick(m.from_right, l[0].outer[1], r[0].outer[3]),
                pick(m.from_right, l[0].rhs, r[0].rhs), m.from_right, m)};
  exchange_if(device::absolute(rows[1].inner) > device::absolute(rows[0].inner), rows[0], rows[1]);
  exchange_if(device::absolute(rows[2].inner) > device::absolute(rows[0].inner), rows[0], rows[2]);
  const T second_inverse = pivot_inverse(rows[0].inner);
  WARPLOOM_UNROLL
  for (int c = 0; c < 4; ++c) m.outer[c] = rows[0].outer[c] * second_inverse;
  m.second_value = rows[0].rhs * second_inverse;
  WARPLOOM_UNROLL
  for (int i = 0; i < 2; ++i) {
    const T own = rows[i + 1].inner;
    WARPLOOM_UNROLL
    for (int c = 0; c < 4; ++c) left->row[i].outer[c] = minus_product(own, m.outer[c], rows[i + 1].outer[c]);
    left->row[i].rhs = minus_product(own, m.second_value, rows[i + 1].rhs);
  }
  return m;
}

template <class T>
WARPLOOM_DEVICE void store_merge(const ChunkStore<T>& store, int lane, const MergeRows<T>& m) {
  store.slot(0, lane) = m.inner;
  store.slot(1, lane) = m.pair[0];
  store.slot(2, lane) = m.pair[1];
  store.slot(3, lane) = m.value;
  WARPLOOM_UNROLL
  for (int c = 0; c < 4; ++c) store.slot(4 + c, lane) = m.outer[c];
  store.slot(8, lane) = m.second_value;
  store.slot(9, lane) = T(m.from_right ? RealOf<T>(1) : RealOf<T>(0));
}
template <class T>
WARPLOOM_DEVICE MergeRows<T> load_merge(const ChunkStore<T>& store, int lane) {
  MergeRows<T> m;
  m.inner = store.slot(0, lane);
  m.pair[0] = store.slot(1, lane);
  m.pair[1] = store.slot(2, lane);
  m.value = store.slot(3, lane);
  WARPLOOM_UNROLL
  for (int c = 0; c < 4; ++c) m.outer[c] = store.slot(4 + c, lane);
  m.second_value = store.slot(8, lane);
  m.from_right = device::absolute(store.slot(9, lane)) != RealOf<T>(0);
  return m;
}

/// The two unknowns of a merge, u then v, from the merged chunk's outer values.
template <class T>
WARPLOOM_DEVICE void substitute_merge(const MergeRows<T>& m, const OuterValues<T>& values, T* u, T* v) {
  T second = m.second_value;
  WARPLOOM_UNROLL
  for (int c = 0; c < 4; ++c) second = minus_product(m.outer[c], values.value[c], second);
  T first = minus_product(m.pair[0], pick(m.from_right, values.value[2], values.value[0]), m.value);
  first = minus_product(m.pair[1], pick(m.from_right, values.value[3], values.value[1]), first);
  *u = minus_product(m.inner, second, first);
  *v = second;
}

/// Merges each group of `width` lanes (a power of two) down to its first lane. Starts and ends with the reduced rows in
/// the lanes' slots; the merges stay in the slots of the lanes that were merged from the right. For group g, thread g
/// did the last merge and has the resulting rows; other threads may read them only after a barrier.
template <class T>
WARPLOOM_DEVICE void merge_up(const device::Block& block, const ChunkStore<T>& store, int width) {
  for (int half = 1; half < width; half *= 2) {
    const int left = 2 * half * block.thread();
    if (left < store.lanes) {
      OuterRows<T> rows = store.rows(left);
      const MergeRows<T> merged = merge(&rows, store.rows(left + half));
      store.set_rows(left, rows);
      store_merge(store, left + half, merged);
    }
    if (store.lanes > 64 * half) {
      block.sync();
    } else {
      // Only the first warp has work left.
      if (block.warp() != 0) return;
      block.sync_warp();
    }
  }
}
/// Spreads the outer values of each group from its first lane to all its lanes. Thread g must have set them for group
/// g.
template <class T>
WARPLOOM_DEVICE void merge_down(const device::Block& block, const ChunkStore<T>& store, int width) {
  for (int half = width / 2; half > 0; half /= 2) {
    const int left = 2 * half * block.thread();
    if (left < store.lanes) {
      const OuterValues<T> values = store.values(left);
      const MergeRows<T> merged = load_merge(store, left + half);
      T u, v;
      substitute_merge(merged, values, &u, &v);
      store.set_values(left, {{values.value[0], values.value[1], u, v}});
      store.set_values(left + half, {{u, v, values.value[2], values.value[3]}});
    }
    if (half == 1 || store.lanes > 32 * half) {
      block.sync();
    } else {
      block.sync_warp();  // the first warp both sets and reads them
    }
  }
}

/// The last step: first and last unknown of a whole system, which has no previous and next.
template <class T>
WARPLOOM_DEVICE OuterValues<T> solve_top(OuterRows<T> rows) {
  OuterRow<T>* const r = rows.row;
  exchange_if(device::absolute(r[1].outer[1]) > device::absolute(r[0].outer[1]), r[0], r[1]);
  const T inverse = pivot_inverse(r[0].outer[1]);
  const T factor = r[0].outer[2] * inverse, value = r[0].rhs * inverse;
  const T own = minus_product(r[1].outer[1], factor, r[1].outer[2]);
  const T rhs = minus_product(r[1].outer[1], value, r[1].rhs);
  const T last = rhs * pivot_inverse(own);
  return {{T(0), minus_product(factor, last, value), last, T(0)}};
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
