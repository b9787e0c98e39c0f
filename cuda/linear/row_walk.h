// How the streaming kernels of check, refinement and factored solves divide a batch among threads.
#pragma once
#include <cstdint>

#include "cuda/core/numbers.h"

namespace warploom::linear {

/// Groups of `width` threads, each of which processes `segment_rows` rows of one problem.
struct RowWalk {
  int32_t width = 32;
  int64_t segments = 1;
  int64_t segment_rows = 1;
};

/// Takes the `row_stride` and `problem_stride` of the array that is read most. Long problems are cut, so that a few of
/// them still fill the device.
inline RowWalk row_walk(int64_t n, int64_t row_stride, int64_t problem_stride, bool ragged) {
  constexpr int64_t kSegmentRows = 4096;
  RowWalk walk;
  if (!ragged && problem_stride < row_stride) {
    walk.width = 1;
    walk.segment_rows = larger<int64_t>(1, smaller<int64_t>(n, 512));
  } else {
    while (walk.width > 1 && walk.width / 2 >= n) walk.width /= 2;
    walk.segment_rows = larger<int64_t>(1, smaller<int64_t>(n, kSegmentRows));
  }
  walk.segments = larger<int64_t>(1, (n + walk.segment_rows - 1) / walk.segment_rows);
  return walk;
}

/// Strides of a packed copy of a batch of vectors. It keeps the order of rows and problems in memory, so that its reads
/// coalesce like those of the original. `rows`: of all systems together.
struct PackedStrides {
  int64_t system = 1, row = 1, rhs = 1;
};
inline PackedStrides packed_strides(int64_t n, int64_t systems, int64_t rows, bool ragged, int64_t row_stride,
                                    int64_t system_stride) {
  PackedStrides strides;
  strides.rhs = rows;
  if (ragged) return strides;
  const bool rows_first = row_stride <= larger(system_stride, int64_t{1});
  strides.row = rows_first ? 1 : systems;
  strides.system = rows_first ? n : 1;
  return strides;
}

}  // namespace warploom::linear
