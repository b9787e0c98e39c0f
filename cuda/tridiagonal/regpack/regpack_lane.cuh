// What every register-packed solver does with the rows of one warp: stage them, load them into registers, exchange at
// lane borders, judge, store.
#pragma once
#include "cuda/linear/verdict.cuh"
#include "cuda/tridiagonal/inputs.cuh"
#include "cuda/tridiagonal/regpack/regpack_rows.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Warp-level steps for kDepth rows per lane. kFull: the usual case, with everything else compiled out: one right-hand
/// side, systems of equal length that fill their lanes, unit row strides, 16-byte alignment. kCyclic: periodic systems
/// that fill their lanes; their corners are in row 0 of `lower` and in the last row of `upper`.
template <class T, int kDepth, bool kFull = false, bool kCyclic = false>
struct RegpackLane {
  using Rows = RegisterRows<T, kDepth>;
  using Lane = Stage<T, kDepth>;
  static constexpr int kWarpRows = 32 * kDepth;
  static constexpr size_t kWarpBytes = 5 * Lane::kBytes;  ///< shared memory of one warp
  /// Four bands of this many rows do not fit a thread's registers, so half of the rows are eliminated before the others
  /// are loaded.
  static constexpr bool kHalves = kDepth * sizeof(T) > 128 && kDepth % 2 == 0;

  T* stage;  ///< five arrays of kWarpRows: lower, diagonal, upper, right-hand side, solution

  WARPLOOM_DEVICE explicit RegpackLane(T* memory) : stage(memory) {}

  /// Starts the copies of one run; with `keep` the bands are already in the stage. A single loop over the arrays keeps
  /// the code small, because short launches are limited by instruction fetches.
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

  /// Loads rows from the stage to registers once the copies are complete. Rows past the run become identity rows, and
  /// entries outside the system become zero, by selection: whatever is there, even NaN, has no effect. With kHalves the
  /// rows are reduced on the way, one half after the other.
  WARPLOOM_DEVICE void take(const Inputs<T>& inputs, const Run& run, int lane, int64_t system_rows,
                            Rows& rows) const {
    if constexpr (kHalves) {
      constexpr int kHalf = kDepth / 2;
      take_part<0, kHalf>(inputs, run, lane, system_rows, rows);
      RowsPart<T, kDepth, 0, kHalf> first(rows);
      Downsweep<kHalf>::down(first);
      take_part<kHalf, kHalf>(inputs, run, lane, system_rows, rows);
      RowsPart<T, kDepth, kHalf, kHalf> second(rows);
      Downsweep<kHalf>::down(second);
      join_halves(rows, first.front, second.front);
    } else {
      take_part<0, kDepth>(inputs, run, lane, system_rows, rows);
    }
  }

  /// The remaining stages inside lanes; with kHalves, `take` has done most of them.
  template <class R>
  static WARPLOOM_DEVICE void reduce(R& rows) {
    if constexpr (!kHalves) Downsweep<kDepth>::down(rows);
  }

  /// The stages across lanes, after those inside lanes. Completes every lane's last row with the next lane's front,
  /// then eliminates over groups of `width` lanes. Leaves `row` and `front` like eliminate_lanes.
  template <bool kFront, bool kUnrolled = false, class R, class V>
  static WARPLOOM_DEVICE void eliminate(const device::Block& block, R& rows, Row<T, V>& row, Front<T, V>& front, int width) {
    const int rank = block.lane() & (width - 1);
    eliminate_lanes<kFront, kUnrolled, kCyclic>(block, row, front, width, rows.pivots, kDepth - 1, [&](Row<T, V>& r, Front<T, V>& f) {
      r = rows.last();
      f = kFront || kCyclic ? device::shuffle(block, rows.front, rank + 1, width)
                            : device::shuffle_down(block, rows.front, 1);
      if (kCyclic || rank != width - 1) absorb_front(r, f);
    });
  }

  /// Substitution inside lanes, from `row` of eliminate_lanes, the unknown of the group's last lane, and the unknown
  /// before the group. Leaves the solution in rows.d.
  template <bool kUnrolled = false, class R, class V>
  static WARPLOOM_DEVICE void descend(const device::Block& block, R& rows, const Row<T, V>& row, const V& x_last,
                                      const V& x_before, int width) {
    const V x = substitute_lanes<kUnrolled>(block, row, x_last, x_before, width);
    const V left = device::shuffle_up(block, x, 1);
    rows.x_left = (block.lane() & (width - 1)) == 0 ? x_before : left;
    rows.d[kDepth - 1] = x;
    if constexpr (kHalves) {
      constexpr int kHalf = kDepth / 2;
      rows.template substitute<1>(kHalf - 1, kHalf, kOutside, kDepth - 1);
      RowsPart<T, kDepth, 0, kHalf> first(rows);
      RowsPart<T, kDepth, kHalf, kHalf> second(rows);
      first.x_left = rows.x_left;
      second.x_left = rows.d[kHalf - 1];
      Downsweep<kHalf>::up(first);
      Downsweep<kHalf>::up(second);
    } else {
      Downsweep<kDepth>::up(rows);
    }
  }

  /// True when this lane has something to report about its rows.
  template <class R>
  static WARPLOOM_DEVICE bool suspicious(const R& rows) {
    bool bad = rows.pivots.infinite || rows.pivots.zero != 0;
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) bad = bad || !device::is_finite(rows.d[j]);
    return bad;
  }

  /// The verdict on this lane's rows, from the inputs in global memory: call it before they are overwritten.
  template <class R>
  static WARPLOOM_DEVICE int inspect(const Batch<T>& batch, const Run& run, int64_t system_rows,
                                     const R& rows) {
    const int64_t first = run.first_row + run.rank * kDepth;
    const int64_t last = first + kDepth < system_rows ? first + kDepth : system_rows;
    const int64_t found = first_non_finite_row(batch, run.system, run.rhs, first, last, kCyclic);
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

  /// Stores rows from registers to global memory. `own`: this lane's rows, `run`: the rows to move. Its stage can be
  /// reused after the next sync_warp.
  WARPLOOM_DEVICE void store(const device::Block& block, const Batch<T>& batch, const Run& /*own*/, const Run& run,
                             const Rows& rows, bool /*present*/ = true) const {
    Lane::write(stage + 4 * kWarpRows, block.lane(), rows.d);
    block.sync_warp();
    store_rows<kDepth>(batch.solution, stage + 4 * kWarpRows, run);
  }
  /// store for kFull. A group that repeats the last system (not `present`) does not store.
  WARPLOOM_DEVICE void store(const device::Block& block, const FullBatch<T>& full, const Run& /*own*/, const Run& run,
                             const Rows& rows, bool present = true) const {
    Lane::write(stage + 4 * kWarpRows, block.lane(), rows.d);
    block.sync_warp();
    if (present) {
      store_full_rows<T, kDepth>(full.array[4] + run.origin * full.solution_stride + run.first_row,
                                 stage + 4 * kWarpRows, run);
    }
  }

 private:
  /// Rows kBegin … kBegin+kCount-1 of every lane.
  template <int kBegin, int kCount>
  WARPLOOM_DEVICE void take_part(const Inputs<T>& inputs, const Run& run, int lane, int64_t system_rows,
                                 Rows& rows) const {
    read<kBegin, kCount>(inputs, 0, run, lane, rows.a);
    read<kBegin, kCount>(inputs, 1, run, lane, rows.b);
    read<kBegin, kCount>(inputs, 2, run, lane, rows.c);
    read<kBegin, kCount>(inputs, 3, run, lane, rows.d);
    const int begin = run.rank * kDepth;
    if constexpr (!kFull) {
      if (inputs.lower_off) {
        const T before = next_to(inputs, 0, run, run.first_row + begin + kBegin - 1, system_rows);
        WARPLOOM_UNROLL
        for (int j = kBegin + kCount - 1; j > kBegin; --j) rows.a[j] = rows.a[j - 1];
        rows.a[kBegin] = before;
      }
      if (inputs.upper_off) {
        const T after = next_to(inputs, 2, run, run.first_row + begin + kBegin + kCount, system_rows);
        WARPLOOM_UNROLL
        for (int j = kBegin; j < kBegin + kCount - 1; ++j) rows.c[j] = rows.c[j + 1];
        rows.c[kBegin + kCount - 1] = after;
      }
    }
    if (!kCyclic && kBegin == 0 && run.first_row + begin == 0) rows.a[0] = T(0);
    const int64_t left = system_rows - 1 - run.first_row - begin;  // index of the last row, counted in this lane
    if (kFull || run.rows == run.width * kDepth) {
      if (!kCyclic && kBegin + kCount == kDepth && left == kDepth - 1) rows.c[kDepth - 1] = T(0);
    } else {
      WARPLOOM_UNROLL
      for (int j = kBegin; j < kBegin + kCount; ++j) {
        const bool inside = begin + j < run.rows;
        rows.a[j] = inside ? rows.a[j] : T(0);
        rows.b[j] = inside ? rows.b[j] : T(1);
        rows.c[j] = inside && j != left ? rows.c[j] : T(0);
        rows.d[j] = inside ? rows.d[j] : T(0);
      }
    }
  }

  /// Element `row` of a system in array k, just before or after a lane's part: from the stage, or from memory if
  /// another warp has it. Zero outside the system.
  WARPLOOM_DEVICE T next_to(const Inputs<T>& inputs, int k, const Run& run, int64_t row, int64_t system_rows) const {
    if (row < 0 || row >= system_rows) return T(0);
    const int64_t within = row - run.first_row;
    if (within >= 0 && within < run.width * kDepth) {
      return stage[k * kWarpRows + Lane::place(run.base + static_cast<int>(within))];
    }
    const Strided<T>& array = inputs.array[k];
    return array.load(run.origin * array.system_stride + row * array.row_stride);
  }

  /// The last stage inside a lane: the first half's last row leaves.
  static WARPLOOM_DEVICE void join_halves(Rows& rows, const Front<T>& first, const Front<T>& second) {
    constexpr int kMiddle = kDepth / 2 - 1;
    Row<T> middle{rows.a[kMiddle], rows.b[kMiddle], rows.c[kMiddle], rows.d[kMiddle]};
    absorb_front(middle, second);
    rows.a[kMiddle] = middle.a;
    rows.b[kMiddle] = rows.pivots.reciprocal(middle.b, kMiddle);
    rows.c[kMiddle] = middle.c;
    rows.d[kMiddle] = middle.d;
    rows.front = first;
    rows.template eliminate<1>(kMiddle, kDepth / 2);
    rows.template save<1>(kMiddle, kDepth / 2);
    rows.update(kDepth - 1, kMiddle, kOutside);
  }

  template <int kBegin, int kCount>
  WARPLOOM_DEVICE void read(const Inputs<T>& inputs, int k, const Run& run, int lane,
                            T (&values)[kDepth]) const {
    if (!kFull && inputs.transfer[k] == Transfer::constant) {
      const T value = run.rows > 0 ? load_constant(inputs.array[k], run) : T(0);
      WARPLOOM_UNROLL
      for (int j = kBegin; j < kBegin + kCount; ++j) values[j] = value;
    } else if constexpr (kHalves) {
      WARPLOOM_UNROLL
      for (int j = kBegin; j < kBegin + kCount; j += Lane::kPerChunk) {
        const auto pack = *reinterpret_cast<const device::Pack<T>*>(stage + k * kWarpRows +
                                                                    Lane::place(lane * kDepth + j));
        WARPLOOM_UNROLL
        for (int i = 0; i < Lane::kPerChunk; ++i) values[j + i] = pack.item[i];
      }
    } else {
      Lane::read(stage + k * kWarpRows, lane, values);
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
