// What every register-packed solver does with the rows of one warp: stage, take into registers, hand
// over at lane borders, judge, store.
#pragma once
#include "cuda/tridiagonal/regpack_rows.cuh"
#include "cuda/tridiagonal/staging.cuh"
#include "cuda/tridiagonal/verdict.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Warp-level steps for kDepth rows per lane. kFull: the usual case with everything else compiled away;
/// one right-hand side, equal systems that fill their lanes, unit row strides, 16-byte alignment.
template <class T, int kDepth, bool kFull = false>
struct RegpackLane {
  using Rows = RegisterRows<T, kDepth>;
  using Lane = Stage<T, kDepth>;
  static constexpr int kWarpRows = 32 * kDepth;
  static constexpr size_t kWarpBytes = 5 * Lane::kBytes;  ///< shared memory of one warp

  T* stage;  ///< five arrays of kWarpRows: lower, diagonal, upper, right-hand side, solution

  WARPLOOM_DEVICE explicit RegpackLane(T* memory) : stage(memory) {}

  /// Starts the copies of one run; with `keep` the bands are in the stage already. One loop over the
  /// arrays keeps the code small: short launches are bound by instruction fetches.
  WARPLOOM_DEVICE void load(const device::Block& block, const Inputs<T>& inputs, const Run& run,
                            bool keep) const {
    if constexpr (Lane::kLaneChunks > 0) {
      if (inputs.aligned && run.rows == run.width * kDepth) {
        load_full_rows<T, kDepth>(block, stage, run, keep, [&](int k) {
          const Strided<T>& array = inputs.array[k];
          return array.data + run.origin * array.system_stride + run.first_row + run.rhs * array.rhs_stride;
        });
        return;
      }
    }
    WARPLOOM_NO_UNROLL
    for (int k = keep ? 3 : 0; k < 4; ++k) {
      load_rows<kDepth>(block, inputs.array[k], inputs.transfer[k], stage + k * kWarpRows, run);
    }
  }

  /// load for kFull.
  WARPLOOM_DEVICE void load(const device::Block& block, const FullBatch<T>& full, const Run& run, bool keep) const {
    const int64_t at = run.origin * full.system_stride + run.first_row;
    load_full_rows<T, kDepth>(block, stage, run, keep, [&](int k) { return full.array[k] + at; });
  }

  /// Stage to registers once the copies are complete. Rows past the run become identity rows, and the
  /// entries outside the system zero, by selection: whatever stands there, even NaN, has no effect.
  WARPLOOM_DEVICE void take(const Inputs<T>& inputs, const Run& run, int lane, int64_t system_rows,
                            Rows& rows) const {
    read(inputs, 0, run, lane, rows.a);
    read(inputs, 1, run, lane, rows.b);
    read(inputs, 2, run, lane, rows.c);
    read(inputs, 3, run, lane, rows.d);
    const int begin = run.rank * kDepth;
    if (run.first_row + begin == 0) rows.a[0] = T(0);
    const int64_t left = system_rows - 1 - run.first_row - begin;  // this lane's index of the last row
    if (kFull || run.rows == run.width * kDepth) {
      if (left == kDepth - 1) rows.c[kDepth - 1] = T(0);
    } else {
      WARPLOOM_UNROLL
      for (int j = 0; j < kDepth; ++j) {
        const bool inside = begin + j < run.rows;
        rows.a[j] = inside ? rows.a[j] : T(0);
        rows.b[j] = inside ? rows.b[j] : T(1);
        rows.c[j] = inside && j != left ? rows.c[j] : T(0);
        rows.d[j] = inside ? rows.d[j] : T(0);
      }
    }
  }

  /// The stages across lanes, after those inside lanes: completes every lane's last row with the next
  /// lane's front, then eliminates over groups of `width` lanes. `row` and `front` as eliminate_lanes leaves them.
  template <bool kFront, bool kUnrolled = false>
  static WARPLOOM_DEVICE void eliminate(const device::Block& block, Rows& rows, Row<T>& row, Front<T>& front,
                                        int width) {
    const int rank = block.lane() & (width - 1);
    eliminate_lanes<kFront, kUnrolled>(block, row, front, width, rows.pivots, kDepth - 1, [&](Row<T>& r, Front<T>& f) {
      r = rows.last();
      f = kFront ? device::shuffle(block, rows.front, rank + 1, width)
                 : device::shuffle_down(block, rows.front, 1);
      if (rank != width - 1) absorb_front(r, f);
    });
  }

  /// The way back inside lanes: `row` of eliminate_lanes, the unknown of the group's last lane, the one
  /// before the group. Leaves the solution in rows.d.
  template <bool kUnrolled = false>
  static WARPLOOM_DEVICE void descend(const device::Block& block, Rows& rows, const Row<T>& row, T x_last,
                                      T x_before, int width) {
    const T x = substitute_lanes<kUnrolled>(block, row, x_last, x_before, width);
    const T left = device::shuffle_up(block, x, 1);
    rows.x_left = (block.lane() & (width - 1)) == 0 ? x_before : left;
    rows.d[kDepth - 1] = x;
    Downsweep<kDepth>::up(rows);
  }

  /// True when this lane has something to report about its rows.
  static WARPLOOM_DEVICE bool suspicious(const Rows& rows) {
    bool bad = rows.pivots.infinite || rows.pivots.zero != 0;
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) bad = bad || !device::is_finite(rows.d[j]);
    return bad;
  }

  /// Verdict on this lane's rows, from the inputs in global memory: call it before they are overwritten.
  static WARPLOOM_DEVICE int inspect(const Batch<T>& batch, const Run& run, int64_t system_rows,
                                     const Rows& rows) {
    const int64_t first = run.first_row + run.rank * kDepth;
    const int64_t last = first + kDepth < system_rows ? first + kDepth : system_rows;
    const int64_t found = first_non_finite_row(batch, run.system, run.rhs, first, last);
    if (found >= 0) return make_verdict(Finding::non_finite_input, found);
    unsigned int overflow = 0;
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) overflow |= device::is_finite(rows.d[j]) ? 0u : 1u << j;
    const unsigned int mask = rows.pivots.zero != 0 ? rows.pivots.zero : overflow;
    if (mask == 0) return 0;
    int j = 0;
    while ((mask >> j & 1u) == 0) ++j;
    return make_verdict(rows.pivots.zero != 0 ? Finding::zero_pivot : Finding::overflow, first + j);
  }

  /// Registers to global memory. The stage of the solution is free again after the next sync_warp.
  WARPLOOM_DEVICE void store(const device::Block& block, const Batch<T>& batch, const Run& run,
                             const Rows& rows) const {
    Lane::write(stage + 4 * kWarpRows, block.lane(), rows.d);
    block.sync_warp();
    store_rows<kDepth>(batch.solution, stage + 4 * kWarpRows, run);
  }
  /// store for kFull.
  WARPLOOM_DEVICE void store(const device::Block& block, const FullBatch<T>& full, const Run& run,
                             const Rows& rows) const {
    Lane::write(stage + 4 * kWarpRows, block.lane(), rows.d);
    block.sync_warp();
    store_full_rows<T, kDepth>(full.array[4] + run.origin * full.solution_stride + run.first_row,
                               stage + 4 * kWarpRows, run);
  }

 private:
  WARPLOOM_DEVICE void read(const Inputs<T>& inputs, int k, const Run& run, int lane,
                            T (&values)[kDepth]) const {
    if (!kFull && inputs.transfer[k] == Transfer::constant) {
      const T value = run.rows > 0 ? load_constant(inputs.array[k], run) : T(0);
      WARPLOOM_UNROLL
      for (int j = 0; j < kDepth; ++j) values[j] = value;
    } else {
      Lane::read(stage + k * kWarpRows, lane, values);
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
