// A chunk of consecutive rows on one block, in registers. It is reduced to its last row and its front, and later filled
// in between known unknowns. Partition solvers of large systems are built from it.
#pragma once
#include "cuda/tridiagonal/regpack/cr_regpack_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Rows of a chunk: a block of kChunkThreads threads with kChunkDepth rows each.
template <class T>
inline constexpr int kChunkDepth = sizeof(T) == 16 ? 8 : 16;
template <class T>
inline constexpr int kChunkThreads = sizeof(T) == 4 ? 512 : 256;
template <class T>
inline constexpr int kChunkRows = kChunkDepth<T> * kChunkThreads<T>;

/// One chunk, between its reduction and its substitution.
template <class T>
struct Chunk {
  static constexpr int kDepth = kChunkDepth<T>;
  static constexpr int kWarps = kChunkThreads<T> / 32;
  using Warp = RegpackLane<T, kDepth>;

  typename Warp::Rows rows;
  Row<T> row;     ///< this lane's last row after the elimination across lanes
  Row<T> outer;   ///< lane w: the last row of warp w after the elimination across warps
  Front<T> front; ///< lane warps-1: the chunk's front

  /// Warps of the block, a power of two.
  static WARPLOOM_DEVICE int warps(const device::Block& block) { return block.threads() / 32; }
  /// The warp's part of chunk number `chunk` of a problem, which the block processes.
  static WARPLOOM_DEVICE Run run_of(const device::Block& block, const Batch<T>& batch, int64_t problem,
                                    int64_t chunk) {
    Run run{32, block.lane(), 0, 0, 0, 0, 0, (chunk * warps(block) + block.warp()) * Warp::kWarpRows};
    run.system = batch.rhs_count == 1 ? problem : problem / batch.rhs_count;
    run.rhs = batch.rhs_count == 1 ? 0 : problem % batch.rhs_count;
    run.origin = batch.origin(run.system);
    const int64_t left = batch.rows(run.system) - run.first_row;
    run.rows = static_cast<int>(left < 0 ? 0 : left < Warp::kWarpRows ? left : Warp::kWarpRows);
    return run;
  }

  /// Reduces the loaded rows to one per warp. `records`: kWarps entries of shared memory that the previous chunk no
  /// longer uses. A barrier must follow.
  WARPLOOM_DEVICE void reduce(const device::Block& block, WarpRecord<T>* records) {
    Downsweep<kDepth>::down(rows);
    Front<T> own;
    Warp::template eliminate<true>(block, rows, row, own, 32);
    if (block.lane() == 31) records[block.warp()] = {row, own};
  }
  /// Reduces the warps' rows to one; every warp does this independently. Lane warps-1 then holds the chunk's last row
  /// in `outer` and its `front`. Returns the pivots that lane w met at the row of warp w.
  WARPLOOM_DEVICE Pivots compose(const device::Block& block, const WarpRecord<T>* records) {
    Pivots pivots;
    const int width = warps(block);
    eliminate_lanes<true>(block, outer, front, width, pivots, 0, [&](Row<T>& r, Front<T>& f) {
      r = {T(0), T(1), T(0), T(0)};
      f = untouched_front<T>();
      if (block.lane() < width) {
        r = records[block.lane()].row;
        if (block.lane() + 1 < width) absorb_front(r, records[block.lane() + 1].front);
        f = records[0].front;
      }
    });
    return pivots;
  }

  /// Computes all unknowns from the chunk's last one and the one before the chunk.
  WARPLOOM_DEVICE void substitute(const device::Block& block, const T& x_last, const T& x_before) {
    const T x = substitute_lanes(block, outer, x_last, x_before, warps(block));
    const T own = device::shuffle(block, x, block.warp());
    const T previous = device::shuffle(block, x, block.warp() - 1);
    Warp::descend(block, rows, row, own, block.warp() == 0 ? x_before : previous, 32);
  }

  /// The pivots that compose met at one row, as one word.
  static WARPLOOM_DEVICE int flags_of(const Pivots& pivots) {
    return (pivots.zero != 0 ? 1 : 0) | (pivots.infinite ? 2 : 0);
  }
  /// Adds the findings outside the warp about its last row, in the lane that owns the row.
  WARPLOOM_DEVICE void note(const device::Block& block, int flags) {
    if (block.lane() != 31) return;
    rows.pivots.zero |= (flags & 1) != 0 ? 1u << (kDepth - 1) : 0u;
    rows.pivots.infinite = rows.pivots.infinite || (flags & 2) != 0;
  }

  /// Reports this lane's findings to the problem's verdict word. The barrier of Warp::store then preserves the inputs
  /// until all lanes have read them.
  WARPLOOM_DEVICE void judge(const Batch<T>& batch, const Run& run, int* verdict) const {
    if (Warp::suspicious(rows)) {
      device::atomic_min(verdict, Warp::inspect(batch, run, batch.rows(run.system), rows));
    }
  }
};

/// What a chunk sends to the other chunks of its system: WarpRecord, in global memory.
template <class T>
using ChunkRecord = WarpRecord<T>;

/// Row k of the system between chunks: chunk k's last row completed by the front of chunk k+1.
template <class T>
WARPLOOM_DEVICE Row<T> interface_row(const ChunkRecord<T>* records, int64_t k, int64_t chunks) {
  Row<T> row = records[k].row;
  if (k + 1 < chunks) {
    absorb_front(row, records[k + 1].front);
  } else {
    row.c = T(0);
  }
  return row;
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
