// Launch shapes and packed copies shared by check and refinement.
#pragma once
#include "cuda/core/launch.cuh"
#include "cuda/linear/extents.cuh"
#include "cuda/linear/row_walk.h"

namespace warploom::WARPLOOM_TARGET::linear {

using ::warploom::linear::row_walk;
using ::warploom::linear::RowWalk;

inline constexpr int kStreamThreads = 128;

/// Blocks of kStreamThreads for `threads` threads.
inline LaunchShape stream_shape(int64_t threads) {
  LaunchShape shape;
  shape.threads = kStreamThreads;
  shape.blocks = (threads + kStreamThreads - 1) / kStreamThreads;
  return shape;
}

/// The walk over a batch with right-hand sides `rhs`.
template <class Batch>
RowWalk walk_of(const Batch& batch) {
  const int64_t problem_stride = batch.rhs_count > 1 ? batch.rhs.rhs_stride : batch.rhs.system_stride;
  return row_walk(batch.n, batch.rhs.row_stride, problem_stride, batch.offsets != nullptr);
}

/// Rows of the whole batch. For a ragged one this is the last offset, which is in device memory.
template <class Batch>
Status all_rows(GpuDevice& device, const Batch& batch, int64_t* rows) {
  *rows = batch.n * batch.systems;
  if (batch.offsets == nullptr) return {};
  return device.download(rows, batch.offsets + batch.systems, sizeof(*rows));
}

/// View of a packed buffer with one entry of type E per unknown of the batch, in the order of its right-hand sides.
template <class E, class Batch>
Strided<E> packed_like(const Batch& batch, int64_t rows, E* data) {
  const auto strides = ::warploom::linear::packed_strides(
      batch.n, batch.systems, rows, batch.offsets != nullptr, batch.rhs.row_stride, batch.rhs.system_stride);
  Strided<E> view;
  view.data = data;
  view.row_stride = strides.row;
  view.system_stride = strides.system;
  view.rhs_stride = strides.rhs;
  return view;
}

}  // namespace warploom::WARPLOOM_TARGET::linear
