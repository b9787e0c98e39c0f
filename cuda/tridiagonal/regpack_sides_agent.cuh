// CR-RegPack for several right-hand sides of one matrix at once, which pay its elimination once: those of a system, or of
// systems that all have the same bands; or a right-hand side of a periodic system together with the system's last column
// (kPeriodic), so that all unknowns come from one pass over the bands (periodic.cuh has the equations).
// A block keeps the bands in shared memory and takes group after group of their right-hand sides.
#pragma once
#include "cuda/tridiagonal/cr_regpack_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T>
struct SidesParameters {
  Batch<T> batch;      ///< rows lie together (moves_spans)
  Inputs<T> inputs;
  const T* corners;    ///< periodic: two per system
  int64_t sides;       ///< problems of one matrix: a system's, or all
  int64_t groups;      ///< of the sides that are solved together
  int64_t blocks;      ///< that share the groups of one matrix
};

template <class T, int kDepth, int kCount, bool kPeriodic>
struct SidesRegpackAgent {
  static constexpr size_t kThreadBytes = sizeof(T) * kDepth * (3 + kCount);  ///< of rows
  static constexpr int kMaxThreads = kThreadBytes <= 256 ? 512 : kThreadBytes <= 360 ? 384 : 256;
  static constexpr int kMinBlocks = 1;
  using Parameters = SidesParameters<T>;
  using Side = Sides<T, kCount>;
  using Lane = SpanLane<T, kDepth>;
  using Rows = RegisterRows<T, kDepth, PivotCare::guarded, Side>;
  using Record = WarpRecord<T, Side>;
  static constexpr int kGiven = kPeriodic ? 1 : kCount;  ///< right-hand sides that are copied
  static constexpr size_t kWarpBytes = (3 + kGiven) * Lane::kElements * sizeof(T);

  static constexpr size_t shared_bytes(int threads) {
    return threads / 32 * (kWarpBytes + sizeof(Record)) + 4 * sizeof(T) + 4 * kCount;
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int warps = block.threads() / 32;
    T* const stage = block.shared<T>(block.warp() * kWarpBytes);
    auto* records = block.shared<Record>(warps * kWarpBytes);
    T* const ends = reinterpret_cast<T*>(records + warps);
    int* const verdicts = reinterpret_cast<int*>(ends + 4);
    if (block.thread() < kCount) verdicts[block.thread()] = 0;
    const int64_t matrix = block.index() / p.blocks;
    int64_t group = block.index() - matrix * p.blocks;
    const Work work(block, p, matrix);
    WARPLOOM_NO_UNROLL
    for (int k = 0; k < 3; ++k) {
      if (p.inputs.transfer[k] != Transfer::copies) continue;
      Lane::copy(block, stage + k * Lane::kElements, p.inputs.array[k].data + Lane::begin_of(p.inputs.array[k], work.run),
                 work.run);
    }
    load(block, p, work, group, stage);
    for (; group < p.groups; group += p.blocks) {
      device::async_wait<0>(block);
      block.sync_warp();
      const Closing closing = closing_of(p, work, group);
      Rows rows;
      take(block, p, work, group, stage, closing, rows);
      block.sync_warp();
      solve_in_block<Lane, kDepth, false>(block, rows, records, [] {});
      T last = T(0);
      if constexpr (kPeriodic) last = close(block, work, closing, ends, verdicts, rows);
      judge(p, work, group, rows, verdicts);
      block.sync_warp();  // the inputs may be overwritten
      store(block, p, work, group, stage, rows);
      block.sync();       // so may the records, the ends and the last row's inputs
      finish(block, p, work, group, last, verdicts);
      if (group + p.blocks < p.groups) load(block, p, work, group + p.blocks, stage);
    }
  }

 private:
  /// The rows of the calling warp.
  struct Work {
    Run run;
    int64_t first_problem;  ///< of the matrix
    int64_t rows;           ///< of the system that is eliminated: without the last one of a periodic system
    WARPLOOM_DEVICE Work(const device::Block& block, const Parameters& p, int64_t matrix)
        : run{32, block.lane(), 0, 0, 0, 0, 0, int64_t(block.warp()) * Lane::kWarpRows},
          first_problem(matrix * p.sides), rows(kPeriodic ? p.batch.n - 1 : p.batch.n) {
      run.system = run.origin = p.batch.rhs_count == 1 ? first_problem : first_problem / p.batch.rhs_count;
      const int64_t left = rows - run.first_row;
      run.rows = static_cast<int>(left < 0 ? 0 : left < Lane::kWarpRows ? left : Lane::kWarpRows);
    }
    /// The same rows of the s-th side of a group; beyond the last one, that one's.
    WARPLOOM_DEVICE Run of(const Parameters& p, int64_t group, int s) const {
      const int64_t side = group * kGiven + s, problem = first_problem + (side < p.sides ? side : p.sides - 1);
      Run result = run;
      result.system = p.batch.rhs_count == 1 ? problem : problem / p.batch.rhs_count;
      result.rhs = problem - result.system * p.batch.rhs_count;
      result.origin = result.system;
      return result;
    }
  };

  static WARPLOOM_DEVICE const T* address(const Strided<T>& array, const Run& run) {
    return array.data + Lane::begin_of(array, run);
  }
  static WARPLOOM_DEVICE void load(const device::Block& block, const Parameters& p, const Work& work, int64_t group,
                                   T* stage) {
    WARPLOOM_UNROLL
    for (int s = 0; s < kGiven; ++s) {
      const Run run = work.of(p, group, s);
      Lane::copy(block, stage + (3 + s) * Lane::kElements, address(p.batch.rhs, run), run);
    }
    device::async_commit(block);
  }

  /// The last row of a periodic system and the corner of its first row.
  struct Closing {
    Row<T> row;
    T first;
  };
  static WARPLOOM_DEVICE Closing closing_of(const Parameters& p, const Work& work, int64_t group) {
    Closing closing{{T(0), T(1), T(0), T(0)}, T(0)};
    if constexpr (kPeriodic) {
      const Batch<T>& batch = p.batch;
      const Run run = work.of(p, group, 0);
      const int64_t last = batch.n - 1;
      closing.first = p.corners[2 * run.system];
      closing.row.a = batch.lower.load(batch.lower.index(run.system, last, 0));
      closing.row.b = batch.diagonal.load(batch.diagonal.index(run.system, last, 0));
      closing.row.c = p.corners[2 * run.system + 1];
      closing.row.d = batch.rhs.load(batch.rhs.index(run.system, last, run.rhs));
    }
    return closing;
  }

  static WARPLOOM_DEVICE void take(const device::Block& block, const Parameters& p, const Work& work, int64_t group,
                                   const T* stage, const Closing& closing, Rows& rows) {
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
    WARPLOOM_UNROLL
    for (int s = 0; s < kGiven; ++s) {
      const Run run = work.of(p, group, s);
      const T* const from = stage + (3 + s) * Lane::kElements + Lane::phase_of(address(p.batch.rhs, run)) + begin;
      WARPLOOM_UNROLL
      for (int j = 0; j < kDepth; ++j) rows.d[j].item[s] = from[j];
    }
    const int64_t first = work.run.first_row + begin;
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      const bool inside = begin + j < work.run.rows, end = first + j + 1 == work.rows;
      if constexpr (kPeriodic) {
        // The right-hand side of the last column: nothing but the first corner and the last row's upper entry.
        const T corner = first + j == 0 ? T(0) - closing.first : T(0);
        rows.d[j].item[kCount - 1] = end ? corner - rows.c[j] : corner;
      }
      rows.a[j] = inside && first + j != 0 ? rows.a[j] : T(0);
      rows.b[j] = inside ? rows.b[j] : T(1);
      rows.c[j] = inside && !end ? rows.c[j] : T(0);
      WARPLOOM_UNROLL
      for (int s = 0; s < kCount; ++s) rows.d[j].item[s] = inside ? rows.d[j].item[s] : T(0);
    }
  }

  /// The last unknown; leaves all others in item 0. The words for what the last row and the corners show.
  static WARPLOOM_DEVICE T close(const device::Block& block, const Work& work, const Closing& closing, T* ends,
                                 int* verdicts, Rows& rows) {
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
    const T x = divide(sum, pivot);
    if (block.thread() == 0) {
      int verdict = 0;
      const bool finite = device::is_finite(row.a) && device::is_finite(row.b) && device::is_finite(row.c) && device::is_finite(row.d);
      if (!device::is_finite(closing.first)) {
        verdict = make_verdict(Finding::non_finite_input, 0);
      } else if (!finite) {
        verdict = make_verdict(Finding::non_finite_input, work.rows);
      } else if (device::absolute(pivot) == 0) {
        verdict = make_verdict(Finding::zero_pivot, work.rows);
      } else if (!device::is_finite(x)) {
        verdict = make_verdict(Finding::overflow, 0);
      }
      if (verdict != 0) device::atomic_min(&verdicts[0], verdict);
    }
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) rows.d[j].item[0] = device::fma(rows.d[j].item[1], x, rows.d[j].item[0]);
    return x;
  }

  /// One side's part of what Lane::inspect looks at.
  struct One {
    Pivots pivots;
    T d[kDepth];
  };
  static WARPLOOM_DEVICE void judge(const Parameters& p, const Work& work, int64_t group, const Rows& rows, int* verdicts) {
    if (!Lane::suspicious(rows)) return;
    WARPLOOM_NO_UNROLL
    for (int s = 0; s < kGiven; ++s) {
      One one{rows.pivots, {}};
      WARPLOOM_UNROLL
      for (int j = 0; j < kDepth; ++j) {
        WARPLOOM_UNROLL
        for (int k = 0; k < kGiven; ++k) one.d[j] = k == s ? rows.d[j].item[k] : one.d[j];
      }
      const int verdict = Lane::inspect(p.batch, work.of(p, group, s), work.rows, one);
      if (verdict != 0) device::atomic_min(&verdicts[s], verdict);
    }
  }

  static WARPLOOM_DEVICE void store(const device::Block& block, const Parameters& p, const Work& work, int64_t group,
                                    T* stage, const Rows& rows) {
    const int begin = block.lane() * kDepth;
    WARPLOOM_UNROLL
    for (int s = 0; s < kGiven; ++s) {
      T* const x = stage + (3 + s) * Lane::kElements + Lane::phase_of(address(p.batch.solution, work.of(p, group, s)));
      WARPLOOM_UNROLL
      for (int j = 0; j < kDepth; ++j) x[begin + j] = rows.d[j].item[s];
    }
    block.sync_warp();
    WARPLOOM_UNROLL
    for (int s = 0; s < kGiven; ++s) {
      if (group * kGiven + s >= p.sides) continue;
      const Run run = work.of(p, group, s);
      T* const to = p.batch.solution.data + Lane::begin_of(p.batch.solution, run);
      const int phase = Lane::phase_of(to);
      Lane::write(to, stage + (3 + s) * Lane::kElements + phase, phase, run);
    }
    block.sync_warp();
  }

  /// After a barrier: the words, and the last unknown of a periodic system.
  static WARPLOOM_DEVICE void finish(const device::Block& block, const Parameters& p, const Work& work, int64_t group,
                                     const T& last, int* verdicts) {
    const int s = block.thread();
    if (s >= kGiven) return;
    const int64_t side = group * kGiven + s;
    if (side < p.sides) store_verdict(p.batch, work.first_problem + side, verdicts[s]);
    verdicts[s] = 0;
    if constexpr (kPeriodic) {
      const Run run = work.of(p, group, 0);
      p.batch.solution.data[p.batch.solution.index(run.system, work.rows, run.rhs)] = last;
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
