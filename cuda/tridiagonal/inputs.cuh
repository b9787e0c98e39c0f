// Chooses, on the host, how the arrays of a batch are moved.
#pragma once
#include "cuda/tridiagonal/staging.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// How the arrays of a batch are moved; `full`: every lane of a system's group is filled with rows, so
/// that adjacent systems may be moved as one run.
template <class T>
Inputs<T> inputs_of(const Batch<T>& batch, bool full) {
  Inputs<T> inputs{{batch.lower, batch.diagonal, batch.upper, batch.rhs}, {}, false, false};
  const auto adjacent = [&](const Strided<T>& array) {
    return array.plain() && array.system_stride == batch.n;
  };
  const auto aligned = [&](const Strided<T>& array) {
    constexpr int64_t kElements = 16 / static_cast<int64_t>(sizeof(T));
    return array.plain() && reinterpret_cast<uintptr_t>(array.data) % 16 == 0 &&
           array.system_stride % kElements == 0 && (batch.rhs_count == 1 || array.rhs_stride % kElements == 0);
  };
  inputs.merged = full && batch.offsets == nullptr && batch.rhs_count == 1 && adjacent(batch.solution);
  inputs.aligned = batch.offsets == nullptr;
  for (int k = 0; k < 4; ++k) {
    inputs.transfer[k] = transfer_of(inputs.array[k], batch.n);
    inputs.merged = inputs.merged && adjacent(inputs.array[k]);
    inputs.aligned = inputs.aligned && aligned(inputs.array[k]);
  }
  return inputs;
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
