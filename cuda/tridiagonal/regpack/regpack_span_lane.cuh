// Depths that are not powers of two, so that systems slightly longer than one do not need lanes for twice their rows;
// and systems that start at any element. Rows are arranged in the stage as in memory: 16-byte copies between the ends
// of a run, wherever it starts. Because the depth is odd, lanes that read their rows one by one have no bank conflicts.
#pragma once
#include <type_traits>

#include "cuda/tridiagonal/regpack/regpack_lane.cuh"
#include "cuda/tridiagonal/regpack/span_policy.h"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// How many threads of a block the registers allow at odd depths.
template <class T, int kDepth>
inline constexpr int kSpanThreads = ::warploom::tridiagonal::span_threads(sizeof(T), kDepth);
/// The same for blocks of 128 threads per multiprocessor.
template <class T, int kDepth>
inline constexpr int kSpanBlocks = kDepth * sizeof(T) > 96 ? 2 : kDepth * sizeof(T) > 64 ? 3 : 4;

/// RegpackLane of an odd depth.
template <class T, int kDepth>
struct SpanLane : RegpackLane<T, kDepth> {
  using Base = RegpackLane<T, kDepth>;
  using typename Base::Rows;
  using Base::kWarpRows, Base::stage;
  static_assert(kDepth % 2 == 1, "an even depth has bank conflicts");
  static constexpr int kPerChunk = 16 / static_cast<int>(sizeof(T));
  /// Elements of one array; a run may start anywhere in its first chunk.
  static constexpr int kElements = kWarpRows + kPerChunk;
  static constexpr size_t kWarpBytes = 5 * kElements * sizeof(T);

  WARPLOOM_DEVICE explicit SpanLane(T* memory) : Base(memory) {}

  static WARPLOOM_DEVICE int64_t begin_of(const Strided<T>& array, const Run& run) {
    return run.origin * array.system_stride + run.first_row * array.row_stride + run.rhs * array.rhs_stride;
  }
  /// Elements between the 16-byte chunk that an address lies in and the address.
  static WARPLOOM_DEVICE int phase_of(const T* at) {
    return static_cast<int>(reinterpret_cast<uintptr_t>(at) / sizeof(T)) & (kPerChunk - 1);
  }
  /// Elements of a run before its first whole chunk, and in whole chunks.
  struct Ends {
    int head, whole;
    WARPLOOM_DEVICE Ends(int phase, int rows) {
      head = (kPerChunk - phase) & (kPerChunk - 1);
      head = head < rows ? head : rows;
      whole = (rows - head) / kPerChunk * kPerChunk;
    }
  };

  /// Copies a run of one warp as chunks. A part of such a run may begin anywhere in the stage, and is copied as
  /// elements.
  static WARPLOOM_DEVICE void copy(const device::Block& block, T* to, const T* from, const Run& run) {
    constexpr int kElementBytes = static_cast<int>(sizeof(T));
    if (run.width < 32) {
      for (int e = run.rank; e < run.rows; e += run.width) {
        device::async_copy<kElementBytes>(block, to + run.base + e, from + e);
      }
      return;
    }
    const int phase = phase_of(from);
    const Ends ends(phase, run.rows);
    to += phase;
    constexpr int kTurns = (kDepth + kPerChunk - 1) / kPerChunk;
    WARPLOOM_UNROLL
    for (int turn = 0; turn < kTurns; ++turn) {
      const int e = (run.rank + turn * 32) * kPerChunk;
      if (e < ends.whole) device::async_copy<16>(block, to + ends.head + e, from + ends.head + e);
    }
    const int tail = ends.head + ends.whole;
    if (run.rank < ends.head) device::async_copy<kElementBytes>(block, to + run.rank, from + run.rank);
    if (run.rank < run.rows - tail) device::async_copy<kElementBytes>(block, to + tail + run.rank, from + tail + run.rank);
  }
  static WARPLOOM_DEVICE void write(T* to, const T* from, int phase, const Run& run) {
    const Ends ends(phase, run.rows);
    constexpr int kTurns = (kDepth + kPerChunk - 1) / kPerChunk;
    WARPLOOM_UNROLL
    for (int turn = 0; turn < kTurns; ++turn) {
      const int e = (run.rank + turn * 32) * kPerChunk;
      if (e < ends.whole) {
        *reinterpret_cast<device::Pack<T>*>(to + ends.head + e) = *reinterpret_cast<const device::Pack<T>*>(from + ends.head + e);
      }
    }
    const int tail = ends.head + ends.whole;
    if (run.rank < ends.head) to[run.rank] = from[run.rank];
    if (run.rank < run.rows - tail) to[tail + run.rank] = from[tail + run.rank];
  }

  WARPLOOM_DEVICE void load(const device::Block& block, const Inputs<T>& inputs, const Run& run, bool keep) const {
    WARPLOOM_NO_UNROLL
    for (int k = keep ? 3 : 0; k < 4; ++k) {
      const Strided<T>& array = inputs.array[k];
      T* const to = stage + k * kElements;
      if (inputs.transfer[k] == Transfer::copies) {
        copy(block, to, array.data + begin_of(array, run), run);
      } else if (inputs.transfer[k] == Transfer::elements) {
        const int64_t at = begin_of(array, run);
        for (int e = run.rank; e < run.rows; e += run.width) {
          const int64_t element = at + e * array.row_stride;
          if (array.readable(element)) to[run.base + e] = array.load(element);
        }
      }
    }
  }

  WARPLOOM_DEVICE void take(const Inputs<T>& inputs, const Run& run, int lane, int64_t system_rows, Rows& rows) const {
    const int begin = run.rank * kDepth;
    read(inputs, 0, run, lane, rows.a);
    read(inputs, 1, run, lane, rows.b);
    read(inputs, 2, run, lane, rows.c);
    read(inputs, 3, run, lane, rows.d);
    if (inputs.lower_off) {
      const T before = next_to(inputs, 0, run, lane, run.first_row + begin - 1, system_rows);
      WARPLOOM_UNROLL
      for (int j = kDepth - 1; j > 0; --j) rows.a[j] = rows.a[j - 1];
      rows.a[0] = before;
    }
    if (inputs.upper_off) {
      const T after = next_to(inputs, 2, run, lane, run.first_row + begin + kDepth, system_rows);
      WARPLOOM_UNROLL
      for (int j = 0; j < kDepth - 1; ++j) rows.c[j] = rows.c[j + 1];
      rows.c[kDepth - 1] = after;
    }
    const int64_t left = system_rows - 1 - run.first_row - begin;  // index of the last row, counted in this lane
    if (run.first_row + begin == 0) rows.a[0] = T(0);
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      const bool inside = begin + j < run.rows;
      rows.a[j] = inside ? rows.a[j] : T(0);
      rows.b[j] = inside ? rows.b[j] : T(1);
      rows.c[j] = inside && j != left ? rows.c[j] : T(0);
      rows.d[j] = inside ? rows.d[j] : T(0);
    }
  }

  WARPLOOM_DEVICE void store(const device::Block& block, const Batch<T>& batch, const Run& own, const Run& run,
                             const Rows& rows, bool /*present*/ = true) const {
    const Strided<T>& array = batch.solution;
    const bool spans = run.width == 32 && array.plain();
    T* const x = stage + 4 * kElements;
    T* const to = array.data + begin_of(array, run);
    const int phase = spans ? phase_of(to) : 0, begin = own.rank * kDepth;
    // Next to the rows of neighbouring systems, as in global memory; otherwise in a separate place.
    const bool packed = run.width != own.width;
    T* const mine = x + phase + (packed ? static_cast<int>(own.origin - run.origin) * static_cast<int>(batch.n) : own.base) + begin;
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      if (begin + j < own.rows) mine[j] = rows.d[j];
    }
    block.sync_warp();
    if (spans) {
      write(to, x + phase, phase, run);
    } else {
      const int64_t at = begin_of(array, run);
      for (int e = run.rank; e < run.rows; e += run.width) array.store(at + e * array.row_stride, x[run.base + e]);
    }
  }

 private:
  /// Where the run's first row is in the stage of array k.
  static WARPLOOM_DEVICE int place_of(const Inputs<T>& inputs, int k, const Run& run, int lane) {
    if (inputs.transfer[k] != Transfer::copies) return run.base;
    const Strided<T>& array = inputs.array[k];
    const T* const from = array.data + begin_of(array, run);
    if (run.width == 32) return phase_of(from);
    if (!inputs.merged) return run.base;
    // Elements of the systems that are moved with it and come before it.
    const int before = lane / run.width * static_cast<int>(array.system_stride);
    return phase_of(from - before) + before;
  }
  WARPLOOM_DEVICE void read(const Inputs<T>& inputs, int k, const Run& run, int lane, T (&values)[kDepth]) const {
    if (inputs.transfer[k] == Transfer::constant) {
      const T value = run.rows > 0 ? load_constant(inputs.array[k], run) : T(0);
      WARPLOOM_UNROLL
      for (int j = 0; j < kDepth; ++j) values[j] = value;
    } else {
      const T* const from = stage + k * kElements + place_of(inputs, k, run, lane) + run.rank * kDepth;
      WARPLOOM_UNROLL
      for (int j = 0; j < kDepth; ++j) values[j] = from[j];
    }
  }
  /// Element `row` of a system in array k, just before or after a lane's part: from the stage, or from memory if
  /// another warp has it. Zero outside the system.
  WARPLOOM_DEVICE T next_to(const Inputs<T>& inputs, int k, const Run& run, int lane, int64_t row, int64_t system_rows) const {
    if (row < 0 || row >= system_rows) return T(0);
    const int64_t within = row - run.first_row;
    if (within >= 0 && within < run.rows) return stage[k * kElements + place_of(inputs, k, run, lane) + within];
    const Strided<T>& array = inputs.array[k];
    return array.load(run.origin * array.system_stride + row * array.row_stride);
  }
};

/// SpanLane for uniform batches whose four inputs start at the same offset in a 16-byte chunk, and whose systems take
/// whole warps or are contiguous: one address and one set of conditions for all arrays.
template <class T, int kDepth>
struct FullSpanLane : SpanLane<T, kDepth> {
  using Base = SpanLane<T, kDepth>;
  using typename Base::Rows;
  using Base::kElements, Base::kWarpRows, Base::stage;

  WARPLOOM_DEVICE explicit FullSpanLane(T* memory) : Base(memory) {}

  /// `run`: of a whole warp.
  WARPLOOM_DEVICE void load(const device::Block& block, const FullBatch<T>& full, const Run& run, bool keep) const {
    constexpr int kElementBytes = static_cast<int>(sizeof(T)), kPerChunk = Base::kPerChunk;
    constexpr int kTurns = (kDepth + kPerChunk - 1) / kPerChunk;
    const int64_t at = run.origin * full.system_stride + run.first_row;
    const int phase = Base::phase_of(full.array[3] + at);
    const typename Base::Ends ends(phase, run.rows);
    const int tail = ends.head + ends.whole;
    T* const to = stage + phase;
    WARPLOOM_UNROLL
    for (int k = 0; k < 4; ++k) {
      if (k < 3 && keep) continue;
      const T* const from = full.array[k] + at;
      WARPLOOM_UNROLL
      for (int turn = 0; turn < kTurns; ++turn) {
        const int e = ends.head + (run.rank + turn * 32) * kPerChunk;
        if (e < tail) device::async_copy<16>(block, to + k * kElements + e, from + e);
      }
      if (run.rank < ends.head) device::async_copy<kElementBytes>(block, to + k * kElements + run.rank, from + run.rank);
      if (run.rank < run.rows - tail) {
        device::async_copy<kElementBytes>(block, to + k * kElements + tail + run.rank, from + tail + run.rank);
      }
    }
  }

  /// Loads a lane's own run. Rows past its end become identity rows: in the stage if a system has a warp, otherwise by
  /// selection.
  WARPLOOM_DEVICE void take(const device::Block& block, const FullBatch<T>& full, const Run& run, Rows& rows) const {
    const int before = run.width == 32 ? 0 : block.lane() / run.width * full.n;  // rows of the systems moved with it
    const int64_t at = run.origin * full.system_stride + run.first_row;
    T* const system = stage + Base::phase_of(full.array[3] + at - before) + before;
    const int begin = run.rank * kDepth;
    const int64_t left = full.n - 1 - run.first_row;  // index of the last row, counted in the warp
    if (run.width == 32) {
      WARPLOOM_NO_UNROLL
      for (int e = run.rows + block.lane(); e < kWarpRows; e += 32) {
        system[e] = system[2 * kElements + e] = system[3 * kElements + e] = T(0);
        system[kElements + e] = T(1);
      }
      if (block.lane() == 0 && left >= 0 && left < kWarpRows) system[2 * kElements + left] = T(0);
      block.sync_warp();
    }
    const T* const from = system + begin;
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      rows.a[j] = from[j];
      rows.b[j] = from[kElements + j];
      rows.c[j] = from[2 * kElements + j];
      rows.d[j] = from[3 * kElements + j];
    }
    if (run.first_row + begin == 0) rows.a[0] = T(0);
    if (run.width == 32) return;
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      const bool inside = begin + j < run.rows;
      rows.a[j] = inside ? rows.a[j] : T(0);
      rows.b[j] = inside ? rows.b[j] : T(1);
      rows.c[j] = begin + j + 1 < run.rows ? rows.c[j] : T(0);
      rows.d[j] = inside ? rows.d[j] : T(0);
    }
  }

  /// The original entry of array `v` in row `j` of the lane; zero outside the matrix. Valid until the stage is loaded
  /// again.
  struct Entries {
    static constexpr bool kIdentityBeyond = false;
    const T* from;    ///< the lane's first row in the stage
    int first, last;  ///< the system's first and last row, counted from the lane's
    WARPLOOM_DEVICE T at(int v, int j) const {
      const bool outside = (v == 0 && j == first) || (v == 2 && j == last);
      const T entry = from[v * kElements + j];
      return outside ? T(0) : entry;
    }
  };
  WARPLOOM_DEVICE Entries entries(const device::Block& block, const FullBatch<T>& full, const Run& run) const {
    const int before = run.width == 32 ? 0 : block.lane() / run.width * full.n;
    const int64_t at = run.origin * full.system_stride + run.first_row;
    const int begin = run.rank * kDepth;
    return {stage + Base::phase_of(full.array[3] + at - before) + before + begin, static_cast<int>(-run.first_row) - begin,
            static_cast<int>(full.n - 1 - run.first_row) - begin};
  }

  /// kOver: uses the stage of the right-hand side, which is no longer needed after a warp barrier.
  template <bool kOver = false>
  WARPLOOM_DEVICE void store(const device::Block& block, const FullBatch<T>& full, const Run& own, const Run& run,
                             const Rows& rows, bool /*present*/ = true) const {
    T* const to = full.array[4] + run.origin * full.solution_stride + run.first_row;
    const int phase = Base::phase_of(to), begin = own.rank * kDepth;
    T* const x = stage + (kOver ? 3 : 4) * kElements + phase;
    // Next to the rows of neighbouring systems, as in global memory.
    T* const mine = x + static_cast<int>(own.origin - run.origin) * full.n + begin;
    const int count = own.width == 32 ? kDepth : own.rows - begin;
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      if (j < count) mine[j] = rows.d[j];
    }
    block.sync_warp();
    Base::write(to, x, phase, run);
  }
};

/// The lane type with which agents of cr-regpack move and solve a warp's rows.
template <class T, int kDepth, bool kFull>
using RegpackLaneOf = std::conditional_t<kDepth % 2 == 0, RegpackLane<T, kDepth, kFull>,
                                         std::conditional_t<kFull, FullSpanLane<T, kDepth>, SpanLane<T, kDepth>>>;

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
