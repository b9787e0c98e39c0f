// First-order recurrences y[i] = t[i] + p[i] y[i-1] over groups of lanes: the triangular solves of L D U factors.
#pragma once
#include "cuda/core/complex.cuh"
#include "cuda/core/device.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// What a run of rows does to the value entering it: leaves product * entering + value.
template <class T>
struct Affine {
  T product, value;
};
/// First a, then b.
template <class T>
WARPLOOM_DEVICE Affine<T> then(const Affine<T>& a, const Affine<T>& b) {
  return {a.product * b.product, device::fma(b.product, a.value, b.value)};
}
template <class T>
WARPLOOM_DEVICE Affine<T> unchanged() { return {T(RealOf<T>(1)), T(0)}; }

/// The composition of all lanes' runs before this one in its group of `width` neighbouring threads (a power of two),
/// in order of threads or, with `kReverse`, backwards. `records`: one per warp of the block, in shared memory, not
/// read any more by others; groups wider than a warp meet at one barrier of the block. `total`: of the whole group.
template <bool kReverse, class T>
WARPLOOM_DEVICE Affine<T> compose_before(const device::Block& block, const Affine<T>& own, int width,
                                         Affine<T>* records, Affine<T>* total) {
  const int reach = width < 32 ? width : 32;
  const int place = block.lane() & (reach - 1), rank = kReverse ? reach - 1 - place : place;
  Affine<T> sum = own;
  for (int delta = 1; delta < reach; delta *= 2) {
    const Affine<T> other = kReverse ? device::shuffle_down(block, sum, delta, reach)
                                     : device::shuffle_up(block, sum, delta, reach);
    if (rank >= delta) sum = then(other, sum);
  }
  Affine<T> before = unchanged<T>();
  if (reach > 1) {
    const Affine<T> other = kReverse ? device::shuffle_down(block, sum, 1, reach) : device::shuffle_up(block, sum, 1, reach);
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
