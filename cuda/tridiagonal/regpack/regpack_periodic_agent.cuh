// CR-RegPack for periodic systems. A right-hand side and the system's last column are eliminated together, so that all
// unknowns come from one pass over the bands (periodic.cuh has the equations). The copies of a block's next problem run
// while the current one is solved; a system's bands stay in shared memory for all its right-hand sides.
#pragma once
#include "cuda/tridiagonal/regpack/cr_regpack_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T>
struct PeriodicParameters {
  /// Rows are contiguous (moves_spans); the corners are in row 0 of `lower` and in the last row of `upper`.
  Batch<T> batch;
  Inputs<T> inputs;
  int64_t span;  ///< consecutive problems per block
};

template <class T, int kDepth>
struct PeriodicRegpackAgent {
  static constexpr int kRowsPerLane = kDepth;
  static constexpr size_t kThreadBytes = sizeof(T) * kDepth * 5;  ///< of rows
  static constexpr int kMaxThreads = kThreadBytes <= 256 ? 512 : kThreadBytes <= 360 ? 384 : 256;
  static constexpr int kMinBlocks = 1;
  using Parameters = PeriodicParameters<T>;
  using Side = Sides<T, 2>;  ///< the right-hand side, and that of the last column
  using Lane = SpanLane<T, kDepth>;
  using Rows = RegisterRows<T, kDepth, PivotCare::guarded, Side>;
  using Record = WarpRecord<T, Side>;
  static constexpr size_t kWarpBytes = 5 * Lane::kElements * sizeof(T);  ///< four inputs, unknowns

  static constexpr size_t shared_bytes(int threads) {
    return threads / 32 * (kWarpBytes + sizeof(Record)) + 4 * sizeof(T) + sizeof(int);
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int warps = block.threads() / 32;
    T* const stage = block.shared<T>(block.warp() * kWarpBytes);
    auto* records = block.shared<Record>(warps * kWarpBytes);
    T* const ends = reinterpret_cast<T*>(records + warps);
    int* const verdict = reinterpret_cast<int*>(ends + 4);
    if (block.thread() == 0) *verdict = 0;
    int64_t problem = block.index() * p.span;
    const int64_t end = problem + p.span < p.batch.problems() ? problem + p.span : p.batch.problems();
    Work next(block, p, problem);
    load(block, p, next, stage, false);
    Closing next_closing = closing_of(p, next);
    for (;;) {
      const Work work = next;
      const Closing closing = next_closing;
      device::async_wait<0>(block);
      block.sync_warp();
      Rows rows;
      take(block, p, work, stage, closing, rows);
      block.sync_warp();
      const bool more = ++problem < end;
      if (more) {
        next = Work(block, p, problem);
        load(block, p, next, stage, next.run.system == work.run.system);
        next_closing = closing_of(p, next);
      }
      solve_in_block<Lane, kDepth, false>(block, rows, records, [] {});
      const T last = close(block, work, closing, ends, verdict, rows);
      judge(p, work, rows, verdict);
      store(block, p, work, stage, rows);
      block.sync();  // the records, the ends and the last row's inputs may be overwritten
      finish(block, p, work, last, verdict);
      if (!more) return;
    }
  }

 private:
  /// The rows of the calling warp.
  struct Work {
    Run run;
    /// Rows of the system that is eliminated: without the last one.
    int64_t rows;
    WARPLOOM_DEVICE Work(const device::Block& block, const Parameters& p, int64_t problem)
        : run{32, block.lane(), 0, 0, problem, problem, 0, int64_t(block.warp()) * Lane::kWarpRows}, rows(p.batch.n - 1) {
      if (p.batch.rhs_count != 1) {
        run.system = run.origin = problem / p.batch.rhs_count;
        run.rhs = problem - run.system * p.batch.rhs_count;
      }
      const int64_t left = rows - run.first_row;
      run.rows = static_cast<int>(left < 0 ? 0 : left < Lane::kWarpRows ? left : Lane::kWarpRows);
    }
  };

  static WARPLOOM_DEVICE const T* address(const Strided<T>& array, const Run& run) {
    return array.data + Lane::begin_of(array, run);
  }
  /// Starts the copies of a problem; with `keep`, only of its right-hand side.
  static WARPLOOM_DEVICE void load(const device::Block& block, const Parameters& p, const Work& work, T* stage, bool keep) {
    WARPLOOM_NO_UNROLL
    for (int k = keep ? 3 : 0; k < 3; ++k) {
      if (p.inputs.transfer[k] != Transfer::copies) continue;
      Lane::copy(block, stage + k * Lane::kElements, address(p.inputs.array[k], work.run), work.run);
    }
    Lane::copy(block, stage + 3 * Lane::kElements, address(p.batch.rhs, work.run), work.run);
    device::async_commit(block);
  }

  /// The last row of a periodic system and the corner of its first row.
  struct Closing {
    Row<T> row;
    T first;
  };
  static WARPLOOM_DEVICE Closing closing_of(const Parameters& p, const Work& work) {
    const Batch<T>& batch = p.batch;
    const int64_t last = batch.n - 1, system = work.run.system;
    Closing closing;
    closing.first = batch.lower.load(batch.lower.index(system, 0, 0));
    closing.row.a = batch.lower.load(batch.lower.index(system, last, 0));
    closing.row.b = batch.diagonal.load(batch.diagonal.index(system, last, 0));
    closing.row.c = batch.upper.load(batch.upper.index(system, last, 0));
    closing.row.d = batch.rhs.load(batch.rhs.index(system, last, work.run.rhs));
    return closing;
  }

  static WARPLOOM_DEVICE void take(const device::Block& block, const Parameters& p, const Work& work, const T* stage,
                                   const Closing& closing, Rows& rows) {
    const int begin = block.lane() * kDepth;
    const auto read = [&](int k, T (&to)[kDepth]) {
      if (p.inputs.transfer[k] == Transfer::constant) {
        const T value = load_constant(p.inputs.array[k], work.run);
        WARPLOOM_UNROLL
        for (int j = 0; j < kDepth; ++j) to[j] = value;
      } else {
        const T* const from = stage + k * Lane::kElements + Lane::phase_of(address(p.inputs.array[k], work.run)) + begin;
        WARPLOOM_UNROLL
        for (int j = 0; j < kDepth; ++j) to[j] = from[j];
      }
    };
    read(0, rows.a);
    read(1, rows.b);
    read(2, rows.c);
    const T* const from = stage + 3 * Lane::kElements + Lane::phase_of(address(p.batch.rhs, work.run)) + begin;
    const int64_t first = work.run.first_row + begin;
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      const bool inside = begin + j < work.run.rows, end = first + j + 1 == work.rows;
      // The right-hand side for the last column: only the first corner and the last row's upper entry.
      const T corner = first + j == 0 ? T(0) - closing.first : T(0);
      rows.d[j].item[0] = inside ? from[j] : T(0);
      rows.d[j].item[1] = !inside ? T(0) : end ? corner - rows.c[j] : corner;
      rows.a[j] = inside && first + j != 0 ? rows.a[j] : T(0);
      rows.b[j] = inside ? rows.b[j] : T(1);
      rows.c[j] = inside && !end ? rows.c[j] : T(0);
    }
  }

  /// Computes the last unknown, and leaves all others in item 0. Also writes the words for findings about the last row
  /// and the corners.
  static WARPLOOM_DEVICE T close(const device::Block& block, const Work& work, const Closing& closing, T* ends,
                                 int* verdict, Rows& rows) {
    const int64_t first = work.run.first_row + block.lane() * kDepth;
    if (first == 0) {
      ends[0] = rows.d[0].item[0];
      ends[1] = rows.d[0].item[1];
    }
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      if (first + j + 1 == work.rows) {
        ends[2] = rows.d[j].item[0];
        ends[3] = rows.d[j].item[1];
      }
    }
    block.sync();
    const Row<T>& row = closing.row;
    const T pivot = device::fma(row.a, ends[3], device::fma(row.c, ends[1], row.b));
    const T sum = device::fma(-row.a, ends[2], device::fma(-row.c, ends[0], row.d));
    const T x = sum / pivot;
    if (block.thread() == 0) {
      int found = 0;
      const bool finite = device::is_finite(row.a) && device::is_finite(row.b) && device::is_finite(row.c) && device::is_finite(row.d);
      if (!device::is_finite(closing.first)) {
        found = make_verdict(Finding::non_finite_input, 0);
      } else if (!finite) {
        found = make_verdict(Finding::non_finite_input, work.rows);
      } else if (device::absolute(pivot) == 0) {
        found = make_verdict(Finding::zero_pivot, work.rows);
      } else if (!device::is_finite(x)) {
        found = make_verdict(Finding::overflow, 0);
      }
      if (found != 0) device::atomic_min(verdict, found);
    }
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) rows.d[j].item[0] = device::fma(rows.d[j].item[1], x, rows.d[j].item[0]);
    return x;
  }

  /// The part of Lane::inspect's input that belongs to the right-hand side.
  struct One {
    Pivots pivots;
    T d[kDepth];
  };
  static WARPLOOM_DEVICE void judge(const Parameters& p, const Work& work, const Rows& rows, int* verdict) {
    if (!Lane::suspicious(rows)) return;
    One one{rows.pivots, {}};
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) one.d[j] = rows.d[j].item[0];
    const int found = Lane::inspect(p.batch, work.run, work.rows, one);
    if (found != 0) device::atomic_min(verdict, found);
  }

  static WARPLOOM_DEVICE void store(const device::Block& block, const Parameters& p, const Work& work, T* stage,
                                    const Rows& rows) {
    T* const to = p.batch.solution.data + Lane::begin_of(p.batch.solution, work.run);
    const int phase = Lane::phase_of(to), begin = block.lane() * kDepth;
    T* const x = stage + 4 * Lane::kElements + phase;
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) x[begin + j] = rows.d[j].item[0];
    block.sync_warp();
    Lane::write(to, x, phase, work.run);
    block.sync_warp();
  }

  /// After a barrier: writes the words, and the last unknown.
  static WARPLOOM_DEVICE void finish(const device::Block& block, const Parameters& p, const Work& work, const T& last,
                                     int* verdict) {
    if (block.thread() != 0) return;
    const Run& run = work.run;
    store_verdict(p.batch, run.system * p.batch.rhs_count + run.rhs, *verdict);
    *verdict = 0;
    p.batch.solution.data[p.batch.solution.index(run.system, work.rows, run.rhs)] = last;
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
