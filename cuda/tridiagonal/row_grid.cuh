// One thread per row of every problem, neighbouring threads on neighbouring memory.
#pragma once
#include "cuda/core/launch.cuh"
#include "cuda/tridiagonal/batch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Blocks of kThreads cover tiles of 2^fast_bits elements along the fast index and the rest along the slow one.
struct RowGrid {
  static constexpr int kThreads = 256;
  int64_t problems = 0, rows = 0;
  int64_t fast_tiles = 1;
  int fast_bits = 0;
  bool rows_fast = true;

  /// `row_stride` and `problem_stride`: those of the array that decides (the one written).
  static RowGrid make(int64_t problems, int64_t rows, int64_t row_stride, int64_t problem_stride) {
    RowGrid grid;
    grid.problems = problems;
    grid.rows = rows;
    const auto magnitude = [](int64_t stride) { return stride < 0 ? -stride : stride; };
    grid.rows_fast = magnitude(row_stride) <= magnitude(problem_stride);
    const int64_t fast = grid.rows_fast ? rows : problems;
    while (grid.fast_bits < 8 && (int64_t{1} << grid.fast_bits) < fast) ++grid.fast_bits;
    grid.fast_tiles = ((fast - 1) >> grid.fast_bits) + 1;
    return grid;
  }
  LaunchShape shape() const {
    const int64_t slow = rows_fast ? problems : rows, tall = kThreads >> fast_bits;
    LaunchShape shape;
    shape.threads = kThreads;
    shape.blocks = fast_tiles * ((slow + tall - 1) / tall);
    return shape;
  }
  /// The calling thread's place; false where there is none.
  WARPLOOM_DEVICE bool locate(const device::Block& block, int64_t* problem, int64_t* row) const {
    const int64_t slow_tile = block.index() / fast_tiles, fast_tile = block.index() - slow_tile * fast_tiles;
    const int64_t fast = (fast_tile << fast_bits) + (block.thread() & ((1 << fast_bits) - 1));
    const int64_t slow = slow_tile * (kThreads >> fast_bits) + (block.thread() >> fast_bits);
    *problem = rows_fast ? slow : fast;
    *row = rows_fast ? fast : slow;
    return *problem < problems && *row < rows;
  }
};

/// The grid of a batch's problems for writing `output`, over at most `rows` rows each.
template <class T>
RowGrid row_grid(const Batch<T>& batch, const Strided<T>& output, int64_t rows) {
  const bool ragged = batch.offsets != nullptr;
  const int64_t across = batch.rhs_count > 1 ? output.rhs_stride
                         : ragged            ? batch.n * output.row_stride
                                             : output.system_stride;
  return RowGrid::make(batch.problems(), rows, output.row_stride, across);
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
