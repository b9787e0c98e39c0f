// A chunk of a system that is solved in one pass. Between its reduction and its substitution, the eliminated rows may
// wait in shared memory.
#pragma once
#include "cuda/tridiagonal/partition/one_pass_exchange.cuh"
#include "cuda/tridiagonal/partition/partition_policy.h"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T>
struct OnePassChunk : Chunk<T> {
  using Base = Chunk<T>;
  using typename Base::Warp;
  using Base::kDepth, Base::rows, Base::row, Base::outer, Base::front;
  using Lane = typename Warp::Lane;
  static constexpr int kWarpRows = Warp::kWarpRows;
  static constexpr bool kCrowded = operation::crowded(sizeof(T));
  static constexpr int kEarlyArrays = operation::early_arrays(sizeof(T));
  /// A stage of four arrays, then the waiting rows: a (whose place is also used for the solution), c and d.
  static constexpr size_t kWarpBytes = 7 * Lane::kBytes;

  /// The last row of a warp after the elimination across warps, and the pivots met there.
  struct Outer {
    Equation<T> row;
    int flags;
  };

  /// Starts the copies of arrays first … last-1 of one run.
  static WARPLOOM_DEVICE void load(const device::Block& block, const Inputs<T>& inputs, const Warp& warp,
                                   const Run& run, int first, int last) {
    const bool full = inputs.aligned && run.rows == kWarpRows;
    WARPLOOM_NO_UNROLL
    for (int k = first; k < last; ++k) {
      const Strided<T>& array = inputs.array[k];
      T* stage = warp.stage + k * kWarpRows;
      if (full) {
        const T* from = array.data + run.origin * array.system_stride + run.first_row + run.rhs * array.rhs_stride;
        WARPLOOM_UNROLL
        for (int turn = 0; turn < Lane::kLaneChunks; ++turn) {
          const int chunk = block.lane() + turn * 32;
          device::async_copy<16>(block, stage + Lane::place_chunk(chunk) * Lane::kPerChunk, from + chunk * Lane::kPerChunk);
        }
      } else {
        load_rows<kDepth>(block, array, inputs.transfer[k], stage, run);
      }
    }
    device::async_commit(block);
  }
  /// Takes the rows from the stage once the copies are complete.
  WARPLOOM_DEVICE void take(const device::Block& block, const Batch<T>& batch, const Inputs<T>& inputs,
                            const Warp& warp, const Run& run) {
    device::async_wait<0>(block);
    block.sync_warp();
    warp.take(inputs, run, block.lane(), batch.rows(run.system), rows);
    rows.pivots = Pivots();
    block.sync_warp();
  }
  /// Chunk::reduce; afterwards a, c and d of `rows` may wait.
  WARPLOOM_DEVICE void reduce(const device::Block& block, WarpRecord<T>* records) {
    Base::reduce(block, records);
    rows.a[kDepth - 1] = row.a;
    rows.c[kDepth - 1] = row.c;
    rows.d[kDepth - 1] = row.d;
  }
  /// Chunk::compose by one warp, on behalf of the others. Lane warps-1 then has the chunk's record in `outer` and
  /// `front`.
  WARPLOOM_DEVICE void compose(const device::Block& block, const WarpRecord<T>* records, Outer* shared) {
    const Pivots pivots = Base::compose(block, records);
    if (block.lane() < Base::warps(block)) {
      shared[block.lane()] = {{outer.a, outer.c, outer.d}, Base::flags_of(pivots)};
    }
  }

  /// Saves the rows to three arrays of the warp: those for waiting rows, or those of the stage that no copies are
  /// using.
  WARPLOOM_DEVICE void put_aside(const device::Block& block, const Warp& warp, int array = 4) const {
    Lane::write(warp.stage + array * kWarpRows, block.lane(), rows.a);
    Lane::write(warp.stage + (array + 1) * kWarpRows, block.lane(), rows.c);
    Lane::write(warp.stage + (array + 2) * kWarpRows, block.lane(), rows.d);
  }
  WARPLOOM_DEVICE void bring_back(const device::Block& block, const Warp& warp, const Pivots& waiting, int array = 4) {
    Lane::read(warp.stage + array * kWarpRows, block.lane(), rows.a);
    Lane::read(warp.stage + (array + 1) * kWarpRows, block.lane(), rows.c);
    Lane::read(warp.stage + (array + 2) * kWarpRows, block.lane(), rows.d);
    rows.pivots = waiting;
  }
  /// Waits for a phase's messages, and solves the rows between blocks. If that needs all registers, the chunk's rows
  /// wait in the arrays of the stage that are copied late.
  template <class Exchange>
  WARPLOOM_DEVICE void listen(const device::Block& block, const Exchange& exchange, const Warp& warp, int64_t phase,
                              Surroundings<T>* around) {
    if constexpr (kCrowded) {
      static_assert(kEarlyArrays <= 1, "three arrays are free");
      const Pivots own = rows.pivots;
      put_aside(block, warp, 1);
      exchange.solve(block, phase, around);
      bring_back(block, warp, own, 1);
      block.sync_warp();
    } else {
      exchange.solve(block, phase, around);
    }
  }
  /// Restores the waiting rows and saves the current ones, except a, which goes to `kept`, because its place is for the
  /// solution.
  WARPLOOM_DEVICE void swap(const device::Block& block, const Warp& warp, Pivots& waiting, T (&kept)[kDepth]) {
    T other[kDepth];
    Lane::read(warp.stage + 5 * kWarpRows, block.lane(), other);
    Lane::write(warp.stage + 5 * kWarpRows, block.lane(), rows.c);
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) rows.c[j] = other[j];
    Lane::read(warp.stage + 6 * kWarpRows, block.lane(), other);
    Lane::write(warp.stage + 6 * kWarpRows, block.lane(), rows.d);
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      rows.d[j] = other[j];
      kept[j] = rows.a[j];
    }
    Lane::read(warp.stage + 4 * kWarpRows, block.lane(), rows.a);
    const Pivots pivots = rows.pivots;
    rows.pivots = waiting;
    waiting = pivots;
  }
  /// Completes put_aside, once the solution has been stored.
  WARPLOOM_DEVICE void put_aside_kept(const device::Block& block, const Warp& warp, const T (&kept)[kDepth]) const {
    block.sync_warp();
    Lane::write(warp.stage + 4 * kWarpRows, block.lane(), kept);
  }

  /// Computes all unknowns from the chunk's last one, the flags met there, and the unknown before the chunk.
  WARPLOOM_DEVICE void fill_in(const device::Block& block, const Outer* shared, const T& x_last, int flags,
                               const T& x_before) {
    const int warps = Base::warps(block);
    const Outer own = shared[block.lane() < warps ? block.lane() : 0];
    outer = {own.row.a, T(1), own.row.c, own.row.d};
    row = {rows.a[kDepth - 1], T(1), rows.c[kDepth - 1], rows.d[kDepth - 1]};
    Base::note(block, shared[block.warp()].flags | (block.warp() == warps - 1 ? flags : 0));
    Base::substitute(block, x_last, x_before);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
