// One thread per row of every problem; neighbouring threads access neighbouring memory.
#pragma once
#include "cuda/core/launch_shape.h"
#include "cuda/linear/extents.cuh"

namespace warploom::WARPLOOM_TARGET::linear {

/// Blocks of kThreads cover tiles of 2^fast_bits elements along the fast index, and the rest along the slow one. In a
/// uniform batch the indices are row and problem. In a ragged batch they are the row, counted over all systems, and the
/// right-hand side, so that one long system does not cause empty blocks for the others.
struct RowGrid {
  static constexpr int kThreads = 256;
  int64_t rows = 0, columns = 0;  ///< columns: problems, or right-hand sides when ragged
  int64_t systems = 0, rhs_count = 1;
  const int64_t* offsets = nullptr;
  int64_t fast_tiles = 1;
  int fast_bits = 0;
  bool rows_fast = true;

  /// Computes the tiles from the extents.
  void cover() {
    const int64_t fast = rows_fast ? rows : columns;
    while (fast_bits < 8 && (int64_t{1} << fast_bits) < fast) ++fast_bits;
    fast_tiles = fast < 1 ? 0 : ((fast - 1) >> fast_bits) + 1;
  }
  LaunchShape shape() const {
    const int64_t slow = rows_fast ? columns : rows, tall = kThreads >> fast_bits;
    LaunchShape shape;
    shape.threads = kThreads;
    shape.blocks = fast_tiles * ((slow + tall - 1) / tall);
    return shape;
  }
  /// The calling thread's row; false if it has none. It may be a row that the batch has trimmed.
  WARPLOOM_DEVICE bool locate(const device::Block& block, int64_t* problem, int64_t* row) const {
    const int64_t slow_tile = block.index() / fast_tiles, fast_tile = block.index() - slow_tile * fast_tiles;
    const int64_t fast = (fast_tile << fast_bits) + (block.thread() & ((1 << fast_bits) - 1));
    const int64_t slow = slow_tile * (kThreads >> fast_bits) + (block.thread() >> fast_bits);
    const int64_t column = rows_fast ? slow : fast;
    *row = rows_fast ? fast : slow;
    *problem = column;
    if (*row >= rows || column >= columns) return false;
    if (offsets == nullptr) return true;
    const int64_t place = offsets[0] + *row;
    if (place >= offsets[systems]) return false;
    // The last system that begins at or before the row. Systems without rows just before it begin there too.
    int64_t low = 0, high = systems;
    while (high - low > 1) {
      const int64_t middle = (low + high) / 2;
      if (offsets[middle] <= place) {
        low = middle;
      } else {
        high = middle;
      }
    }
    *row = place - offsets[low];
    *problem = low * rhs_count + column;
    return true;
  }
};

/// The grid over `columns` problems of `rows` rows, whose elements are `row_stride` and `column_stride` apart.
inline RowGrid row_grid(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  const auto magnitude = [](int64_t stride) { return stride < 0 ? -stride : stride; };
  RowGrid grid;
  grid.rows = rows;
  grid.columns = columns;
  grid.rows_fast = magnitude(row_stride) <= magnitude(column_stride);
  grid.cover();
  return grid;
}

/// The grid over a batch for writing `output`: n rows of each problem or, when ragged, `total` rows, an upper bound on
/// the rows of all systems (total_rows).
template <class Batch, class T>
RowGrid row_grid(const Batch& batch, const Strided<T>& output, int64_t total) {
  const auto magnitude = [](int64_t stride) { return stride < 0 ? -stride : stride; };
  const bool ragged = batch.offsets != nullptr;
  RowGrid grid;
  grid.rows = ragged ? total : batch.n;
  grid.columns = ragged ? batch.rhs_count : batch.problems();
  grid.systems = batch.systems;
  grid.rhs_count = batch.rhs_count;
  grid.offsets = batch.offsets;
  const int64_t across = batch.rhs_count > 1 ? output.rhs_stride : ragged ? total : output.system_stride;
  grid.rows_fast = magnitude(output.row_stride) <= magnitude(across) || (ragged && batch.rhs_count == 1);
  grid.cover();
  return grid;
}

}  // namespace warploom::WARPLOOM_TARGET::linear
