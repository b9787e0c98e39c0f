// First-order recurrences y[i] = t[i] + p[i] y[i-1] over groups of lanes: the triangular solves with L D U factors.
#pragma once
#include "cuda/core/complex.cuh"
#include "cuda/core/device.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// The effect of a run of rows on the value entering it: it becomes product * entering + value.
template <class T>
struct Affine {
  T product, value;
};
/// The effect of a, then b.
template <class T>
WARPLOOM_DEVICE Affine<T> then(const Affine<T>& a, const Affine<T>& b) {
  return {a.product * b.product, device::fma(b.product, a.value, b.value)};
}
template <class T>
WARPLOOM_DEVICE Affine<T> unchanged() { return {T(RealOf<T>(1)), T(0)}; }

/// The value `delta` lanes before this one in its group, in the order of lanes or, with `kReverse`, backwards.
template <bool kReverse, class V>
WARPLOOM_DEVICE V shuffle_on(const device::Block& block, const V& value, int delta, int width) {
  return kReverse ? device::shuffle_down(block, value, delta, width) : device::shuffle_up(block, value, delta, width);
}

/// The composition of the lanes' runs up to and including this one, which is number `rank` of its group of `width`
/// lanes in that order.
template <bool kReverse, class T>
WARPLOOM_DEVICE Affine<T> compose_lanes(const device::Block& block, Affine<T> sum, int width, int rank) {
  WARPLOOM_UNROLL
  for (int delta = 1; delta < 32; delta *= 2) {
    if (delta < width) {
      const Affine<T> other = shuffle_on<kReverse>(block, sum, delta, width);
      if (rank >= delta) sum = then(other, sum);
    }
  }
  return sum;
}

/// The composition of all lanes' runs before this one, in its group of `width` neighbouring threads (a power of two),
/// in the order of threads or, with `kReverse`, backwards. `records`: one per warp of the block, in shared memory that
/// others no longer read. Groups wider than a warp use one block barrier. `total`: that of the whole group.
template <bool kReverse, class T>
WARPLOOM_DEVICE Affine<T> compose_before(const device::Block& block, const Affine<T>& own, int width,
                                         Affine<T>* records, Affine<T>* total) {
  const int reach = width < 32 ? width : 32;
  const int place = block.lane() & (reach - 1), rank = kReverse ? reach - 1 - place : place;
  const Affine<T> sum = compose_lanes<kReverse>(block, own, reach, rank);
  Affine<T> before = unchanged<T>();
  if (reach > 1) {
    const Affine<T> other = shuffle_on<kReverse>(block, sum, 1, reach);
    if (rank > 0) before = other;
  }
  if (width <= 32) {
    *total = device::shuffle(block, sum, kReverse ? 0 : reach - 1, reach);
    return before;
  }
  if (rank == reach - 1) records[block.warp()] = sum;
  block.sync();
  const int warps = width / 32, first = block.warp() / warps * warps;
  Affine<T> outer = unchanged<T>();
  *total = unchanged<T>();
  for (int i = 0; i < warps; ++i) {
    const int warp = kReverse ? first + warps - 1 - i : first + i;
    if (warp == block.warp()) outer = *total;
    *total = then(*total, records[warp]);
  }
  return then(outer, before);
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
