// How the arrays of a batch are moved; the host decides.
#pragma once
#include "cuda/linear/staging.cuh"
#include "cuda/tridiagonal/batch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// The data that the usual case of RegpackLane (kFull) reads, small enough for a few constant-cache lines: bands,
/// right-hand side and solution, and the distances between their systems.
template <class T>
struct FullBatch {
  T* array[5];
  int64_t system_stride;    ///< of all four inputs
  int64_t solution_stride;
  int32_t systems;
  int32_t n;
  int32_t* status;
  int32_t* row;
};

/// The four input arrays in the order lower, diagonal, upper, rhs, and how each is moved. The host decides, for every
/// system of a launch.
template <class T>
struct Inputs {
  Strided<T> array[4];
  Transfer transfer[4];
  /// A warp's systems are full and adjacent in every array: moved as one run of rows.
  bool merged;
  bool aligned;  ///< all four are copied, and every system starts at a multiple of 16 bytes
  /// The band is moved as the caller stores it; its entry of row i is the array's entry of row i-1 (lower) or i+1
  /// (upper).
  bool lower_off, upper_off;

  WARPLOOM_HOST_DEVICE bool off() const { return lower_off || upper_off; }
};

/// If a band is shifted by `rows` rows and otherwise plain, restores it to the caller's view, provided that its buffer
/// holds every row of every system there.
template <class T>
bool see_as_stored(const Batch<T>& batch, Strided<T>& band, int32_t rows) {
  Strided<T> stored = band;
  stored.off_by = 0;
  const int64_t last = (batch.systems - 1) * band.system_stride + batch.n - 1;
  if (band.off_by != rows || !stored.plain() || band.system_stride < 0) return false;
  if (band.readable_begin + rows > 0 || last >= band.readable_end + rows) return false;
  stored.data -= rows;
  band = stored;
  return true;
}

/// How to move the arrays of a batch. `full`: every lane of a system's group is filled with rows, so that adjacent
/// systems may be moved as one run.
template <class T>
Inputs<T> inputs_of(const Batch<T>& batch, bool full) {
  Inputs<T> inputs{{batch.lower, batch.diagonal, batch.upper, batch.rhs}, {}, false, false, false, false};
  if (batch.offsets == nullptr) {
    inputs.lower_off = see_as_stored(batch, inputs.array[0], -1);
    inputs.upper_off = see_as_stored(batch, inputs.array[2], 1);
  }
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

/// Whether the rows of every system, including right-hand sides, are contiguous or a single value, so that they can be
/// moved by chunks wherever they start. `aligned`: they all start at multiples of 16 bytes.
template <class T>
bool moves_spans(const Batch<T>& batch, bool* aligned) {
  constexpr int64_t kElements = 16 / static_cast<int64_t>(sizeof(T));
  const Inputs<T> inputs = inputs_of(batch, true);
  bool result = batch.offsets == nullptr && !inputs.off();
  *aligned = true;
  const auto look = [&](const Strided<T>& array, Transfer transfer) {
    if (transfer == Transfer::constant) return;
    result = result && transfer == Transfer::copies;
    *aligned = *aligned && reinterpret_cast<uintptr_t>(array.data) % 16 == 0 && array.system_stride % kElements == 0 &&
               (batch.rhs_count == 1 || array.rhs_stride % kElements == 0);
  };
  for (int k = 0; k < 4; ++k) look(inputs.array[k], inputs.transfer[k]);
  look(batch.solution, batch.solution.plain() ? Transfer::copies : Transfer::elements);
  return result;
}

/// Whether every system of every array begins at a multiple of 16 bytes, with contiguous rows, so that chunks can be
/// moved directly.
template <class T>
bool is_aligned(const Batch<T>& batch, const Inputs<T>& inputs) {
  constexpr int64_t kElements = 16 / static_cast<int64_t>(sizeof(T));
  const Strided<T>& x = batch.solution;
  return inputs.aligned && !inputs.off() && x.plain() && reinterpret_cast<uintptr_t>(x.data) % 16 == 0 &&
         x.system_stride % kElements == 0 && (batch.rhs_count == 1 || x.rhs_stride % kElements == 0);
}

/// Whether all systems are alike, with one right-hand side, aligned, and countable in 30 bits; then a FullBatch
/// describes everything.
template <class T>
bool is_uniform(const Batch<T>& batch, const Inputs<T>& inputs) {
  const int64_t stride = batch.rhs.system_stride;
  return is_aligned(batch, inputs) && batch.rhs_count == 1 && batch.systems < 1 << 30 &&
         batch.lower.system_stride == stride && batch.diagonal.system_stride == stride &&
         batch.upper.system_stride == stride;
}

/// The same, wherever the systems start.
template <class T>
bool is_uniform_anywhere(const Batch<T>& batch, const Inputs<T>& inputs) {
  const int64_t stride = batch.rhs.system_stride;
  bool result = batch.offsets == nullptr && !inputs.off() && batch.solution.plain() && batch.rhs_count == 1 &&
                batch.systems < 1 << 30 && batch.lower.system_stride == stride &&
                batch.diagonal.system_stride == stride && batch.upper.system_stride == stride;
  for (const Transfer transfer : inputs.transfer) result = result && transfer == Transfer::copies;
  return result;
}

/// Whether neighbouring systems are neighbours in memory in every array; bands may also be the same for all systems.
template <class T>
bool is_interleaved(const Batch<T>& batch) {
  bool result = batch.rhs_count == 1 && batch.offsets == nullptr && batch.n > 1;
  const Strided<T>* const sides[] = {&batch.rhs, &batch.solution};
  for (const auto* view : sides) {
    result = result && view->system_stride == 1 && view->row_stride > 1;
  }
  const Strided<T>* const bands[] = {&batch.lower, &batch.diagonal, &batch.upper};
  for (const auto* band : bands) {
    result = result && (band->system_stride == 0 || (band->system_stride == 1 && band->row_stride > 1));
  }
  return result;
}

/// Whether all three bands are the same for all systems.
template <class T>
bool is_one_matrix(const Batch<T>& batch) {
  return batch.offsets == nullptr && batch.lower.system_stride == 0 && batch.diagonal.system_stride == 0 &&
         batch.upper.system_stride == 0;
}

/// Whether rows of right-hand sides and unknowns are contiguous, in whole 16-byte vectors.
template <class T>
bool lies_in_vectors(const Batch<T>& batch) {
  constexpr int64_t kElements = 16 / static_cast<int64_t>(sizeof(T));
  const auto aligned = [&](const Strided<T>& array) {
    return array.plain() && reinterpret_cast<uintptr_t>(array.data) % 16 == 0 && array.system_stride % kElements == 0 &&
           (batch.rhs_count == 1 || array.rhs_stride % kElements == 0);
  };
  return batch.offsets == nullptr && batch.n % kElements == 0 && aligned(batch.rhs) && aligned(batch.solution);
}

/// Only meaningful for uniform batches.
template <class T>
FullBatch<T> full_batch(const Batch<T>& batch) {
  return {{batch.lower.data, batch.diagonal.data, batch.upper.data, batch.rhs.data, batch.solution.data},
          batch.rhs.system_stride,
          batch.solution.system_stride,
          static_cast<int32_t>(batch.systems),
          static_cast<int32_t>(batch.n),
          batch.status,
          batch.row};
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
