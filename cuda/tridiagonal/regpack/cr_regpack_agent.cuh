// CR-RegPack (Davidson & Owens 2011): kDepth rows per lane in registers, one system per group of lanes
// (WarpRegpackAgent: no block barriers at all) or per block (BlockRegpackAgent: one barrier per system).
//
// The first log2(kDepth) stages of cyclic reduction run inside lanes, the next five across lanes by shuffles. A block's
// warps do not wait for each other at each stage. Instead, besides its own row, a warp's last lane tracks how the
// warp's first unknown depends on its borders (Front). One exchange of (row, front) per warp then gives a system of one
// row per warp, which every warp solves independently. Blocks are persistent: the copies of the next system run while
// the current one is solved.
// Blocks are persistent: the copies of the next system run while this one is solved.
#pragma once
#include <type_traits>

#include "cuda/tridiagonal/regpack/regpack_span_lane.cuh"
#include "cuda/tridiagonal/verify/lane_measure.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T>
struct RegpackParameters {
  FullBatch<T> full;  ///< first, and everything that kFull agents usually read
  int width;          ///< lanes per system, a power of two (32 for blocks)
  int systems_log2;   ///< log2(32 / width): systems per warp
  /// Tiles per worker when consecutive ones share a matrix; 0: workers interleave.
  int64_t span;
  bool shared_bands;  ///< every staged band is the same for all systems
  bool merged;        ///< as Inputs::merged
  Batch<T> batch;
  Inputs<T> inputs;

  WARPLOOM_HOST_DEVICE const auto& source(std::bool_constant<true>) const { return full; }
  WARPLOOM_HOST_DEVICE const auto& source(std::bool_constant<false>) const { return inputs; }
};

/// The tiles that one worker (warp or block) solves, in order. Index: int32_t in the usual case, because 64-bit
/// arithmetic would delay the first copies.
template <class Index>
struct Tiles {
  Index next, end, step;
  static WARPLOOM_DEVICE Tiles of(Index worker, Index workers, Index tiles, Index span) {
    if (span == 0) return {worker, tiles, workers};
    const Index end = (worker + 1) * span;
    return {static_cast<Index>(worker * span), end < tiles ? end : tiles, 1};
  }
};

/// How many threads per block registers and shared memory allow, with depth*sizeof(T) bytes of rows.
template <class T, int kDepth>
inline constexpr int kRegpackThreads = kDepth % 2 != 0                         ? kSpanThreads<T, kDepth>
                                       : kDepth * sizeof(T) <= 64 && sizeof(T) < 16 ? 512
                                       : kDepth * sizeof(T) <= 128               ? 256
                                       : kDepth * sizeof(T) <= 256               ? 128
                                                                                 : 64;

/// One tile: 32/width systems, each on a group of `width` lanes.
template <class T, int kDepth, bool kFull>
struct WarpRegpackAgent {
  static constexpr int kRowBytes = kDepth * static_cast<int>(sizeof(T));
  static constexpr int kMaxThreads = kRowBytes > 256 ? 64 : 128;
  // Blocks per multiprocessor, chosen so that each thread has enough registers for its rows and their addresses.
  static constexpr int kMinBlocks = kDepth % 2 != 0  ? kSpanBlocks<T, kDepth>
                                    : kRowBytes > 128 ? 1
                                    : kRowBytes > 64 ? 2
                                    : sizeof(T) == 4 ? (kRowBytes > 32 ? 4 : kRowBytes > 16 ? 5 : 6)
                                    : kRowBytes > 32 || sizeof(T) == 16 ? 3
                                                                        : 4;
  using Parameters = RegpackParameters<T>;
  using Warp = RegpackLaneOf<T, kDepth, kFull>;
  static constexpr std::bool_constant<kFull> kIsFull{};
  static constexpr bool kSpans = kDepth % 2 != 0;  ///< lanes need not be filled
  using Index = std::conditional_t<kFull, int32_t, int64_t>;
  static constexpr size_t shared_bytes(int threads) { return threads / 32 * Warp::kWarpBytes; }

  /// This lane's group in `tile`; rows = 0 past the last problem.
  static WARPLOOM_DEVICE Run run_of(const device::Block& block, const Parameters& p, Index tile) {
    const int rank = block.lane() & (p.width - 1);
    const Index problem = problem_of(block, p, tile);
    Run run{p.width, rank, (block.lane() - rank) * kDepth, 0, 0, 0, 0, 0};
    if constexpr (kFull) {
      // Groups past the last problem repeat it: same warp, same values, nothing to mask.
      const Index last = p.full.systems - 1;
      run.system = run.origin = problem < last ? problem : last;
      run.rows = kSpans ? (problem <= last ? p.full.n : 0) : p.width * kDepth;
      return run;
    }
    if (problem < problems(p)) {
      run.system = problem;
      if (p.batch.rhs_count != 1) {
        run.system = problem / p.batch.rhs_count;
        run.rhs = problem % p.batch.rhs_count;
      }
      run.origin = p.batch.origin(run.system);
      run.rows = static_cast<int>(p.batch.rows(run.system));
    }
    return run;
  }
  /// Rows of the run's system.
  static WARPLOOM_DEVICE int64_t rows_of(const Run& run) { return run.rows; }
  static WARPLOOM_DEVICE const auto& target(const Parameters& p) {
    if constexpr (kFull) return p.full;
    else return p.batch;
  }
  static WARPLOOM_DEVICE Index problems(const Parameters& p) {
    if constexpr (kFull) return p.full.systems;
    else return p.batch.problems();
  }
  static WARPLOOM_DEVICE Index problem_of(const device::Block& block, const Parameters& p, Index tile) {
    return (tile << p.systems_log2) + (block.lane() >> (5 - p.systems_log2));
  }
  /// The run to move: the whole tile at once if its systems are contiguous.
  static WARPLOOM_DEVICE Run moved(const device::Block& block, const Parameters& p, Index tile,
                                   const Run& own) {
    if (!p.merged) return own;
    const int systems = 1 << p.systems_log2;
    const Index first = tile << p.systems_log2, left = p.full.systems - first;
    if (kFull && !kSpans && left < systems) return own;
    return {32, block.lane(), 0,
            kFull && !kSpans ? 32 * kDepth : static_cast<int>((left < systems ? left : Index(systems)) * p.full.n),
            int64_t(first), int64_t(first), 0, 0};
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) { run_as<WarpRegpackAgent>(block, p); }

 protected:
  /// All tiles of a warp, which Self loads and solves.
  template <class Self>
  static WARPLOOM_DEVICE void run_as(const device::Block& block, const Parameters& p) {
    using Lane = typename Self::Warp;
    const Lane warp(block.shared<T>(block.warp() * Lane::kWarpBytes));
    const int warps = block.threads() / 32;
    auto tiles = Tiles<Index>::of(static_cast<Index>(block.index()) * warps + block.warp(),
                                  static_cast<Index>(block.count()) * warps,
                                  (problems(p) + (1 << p.systems_log2) - 1) >> p.systems_log2,
                                  static_cast<Index>(p.span));
    Run next{};
    // One pass more than there are tiles: the copies of a tile start while the previous one is solved.
    for (Index tile = -1;;) {
      typename Lane::Rows rows;
      const Run run = next;
      if (tile >= 0) {
        device::async_wait<0>(block);
        block.sync_warp();
        if constexpr (kFull && kSpans) warp.take(block, p.full, run, rows);
        else warp.take(p.inputs, run, block.lane(), rows_of(run), rows);
        block.sync_warp();
      }
      const bool more = tiles.next < tiles.end;
      if (more) {
        next = run_of(block, p, tiles.next);
        const bool keep = tile >= 0 && (p.shared_bands ? next.rows <= run.rows
                                                       : p.span > 0 && next.system == run.system);
        warp.load(block, p.source(kIsFull), moved(block, p, tiles.next, next), keep);
        device::async_commit(block);
      }
      if (tile >= 0) {
        Self::solve(block, p, rows);
        judge<Lane>(block, p, tile, run, rows);
        warp.store(block, target(p), run, moved(block, p, tile, run), rows, problem_of(block, p, tile) < problems(p));
      }
      if (!more) return;
      tile = tiles.next;
      tiles.next += tiles.step;
    }
  }

  static WARPLOOM_DEVICE void solve(const device::Block& block, const Parameters& p,
                                    typename Warp::Rows& rows) {
    Warp::reduce(rows);
    Row<T> row;
    Front<T> front;
    Warp::template eliminate<false, kFull>(block, rows, row, front, p.width);
    T x = row.d;
    if ((block.lane() & (p.width - 1)) == p.width - 1) {
      x = row.d * rows.pivots.reciprocal(row.b, kDepth - 1);
    }
    Warp::template descend<kFull>(block, rows, row, x, T(0), p.width);
  }

  /// The verdict on the system of the calling lane's group.
  template <class Lane = Warp>
  static WARPLOOM_DEVICE int verdict(const device::Block& block, const Parameters& p, const Run& run, const typename Lane::Rows& rows) {
    int verdict = 0;
    if (device::ballot(block, Lane::suspicious(rows)) != 0) {
      verdict = Lane::inspect(p.batch, run, run.rows, rows);
      for (int mask = 1; mask < p.width; mask *= 2) {
        const int other = device::shuffle_xor(block, verdict, mask);
        verdict = other < verdict ? other : verdict;
      }
    }
    return verdict;
  }
  template <class Lane>
  static WARPLOOM_DEVICE void judge(const device::Block& block, const Parameters& p, Index tile,
                                    const Run& run, const typename Lane::Rows& rows) {
    const int word = verdict<Lane>(block, p, run, rows);
    const Index problem = problem_of(block, p, tile);
    if (run.rank == 0 && problem < problems(p)) store_verdict(target(p), problem, word);
  }
};

/// WarpRegpackAgent of an odd depth that checks its answers. Its stage holds the rows until they are measured, so the
/// copies of the next tile cannot run meanwhile; more warps make up for that.
template <class T>
struct CheckedRegpackParameters : RegpackParameters<T> {
  Judging judging;
};
template <class T, int kDepth>
struct CheckedWarpRegpackAgent : WarpRegpackAgent<T, kDepth, true> {
  using Base = WarpRegpackAgent<T, kDepth, true>;
  using typename Base::Warp;
  static_assert(Base::kSpans, "other depths are read without a stage");
  static constexpr int kMaxThreads = sizeof(T) == 4 ? 128 : 64;
  static constexpr int kMinBlocks = 5;
  using Parameters = CheckedRegpackParameters<T>;
  static constexpr size_t kWarpBytes = 4 * Warp::kElements * sizeof(T);
  static constexpr size_t shared_bytes(int threads) { return threads / 32 * kWarpBytes; }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const Warp warp(block.shared<T>(block.warp() * kWarpBytes));
    const int warps = block.threads() / 32, tiles = (p.full.systems + (1 << p.systems_log2) - 1) >> p.systems_log2;
    auto mine = Tiles<int>::of(static_cast<int>(block.index()) * warps + block.warp(), static_cast<int>(block.count()) * warps, tiles,
                               static_cast<int>(p.span));
    WARPLOOM_NO_UNROLL
    for (int tile = mine.next; tile < mine.end; tile += mine.step) {
      const Run own = Base::run_of(block, p, tile), all = Base::moved(block, p, tile, own);
      warp.load(block, p.full, all, false);
      device::async_commit(block);
      device::async_wait<0>(block);
      block.sync_warp();
      typename Warp::Rows rows;
      warp.take(block, p.full, own, rows);
      Base::solve(block, p, rows);
      const int problem = Base::problem_of(block, p, tile);
      const bool present = problem < p.full.systems;
      const int verdict = Base::verdict(block, p, own, rows);
      T after = device::shuffle_down(block, rows.d[0], 1);
      if (own.rank == own.width - 1) after = T(0);
      const int left = own.rows - own.rank * kDepth;
      const RowsFinding found = measure_lanes<T, kDepth>(block, warp.entries(block, p.full, own), rows.d, rows.x_left, after,
                                                         own.rank * kDepth, left < 0 ? 0 : left < kDepth ? left : kDepth, own.width,
                                                         present, false);
      if (own.rank == 0 && present) {
        if (verdict != 0) store_verdict(p.full, problem, verdict);
        tridiagonal::judge(p.judging, p.full, problem, found, verdict != 0 ? p.full.status[problem] : 0);
      }
      block.sync_warp();  // the right-hand sides have been read
      warp.template store<true>(block, p.full, own, all, rows);
      block.sync_warp();  // the stage has been read
    }
  }
};

/// What a warp sends to the other warps of its system.
template <class T, class V = T>
struct WarpRecord {
  Row<T, V> row;      ///< last row: complete on the left, untouched on the right
  Front<T, V> front;  ///< of the warp's rows
};

/// Solves one system of a block, with kDepth rows per lane in every warp. `after_barrier` runs once all warps have
/// finished the previous system.
template <class Warp, int kDepth, bool kUnrolled, class T, class V, class Rows, class After>
WARPLOOM_DEVICE void solve_in_block(const device::Block& block, Rows& rows, WarpRecord<T, V>* records, After after_barrier) {
  Warp::reduce(rows);
  Row<T, V> row;
  Front<T, V> front;
  Warp::template eliminate<true, kUnrolled>(block, rows, row, front, 32);
  if (block.lane() == 31) records[block.warp()] = {row, front};
  block.sync();
  after_barrier();
  // One row per warp; every warp solves this system independently.
  const int warps = block.threads() / 32;
  int width = 1;
  while (width < warps) width *= 2;
  Row<T, V> outer;
  Pivots pivots;
  const V x = solve_lanes(block, outer, width, pivots, 0, [&](Row<T, V>& r, Front<T, V>&) {
    r = {T(0), T(1), T(0), V{}};
    if (block.lane() < warps) {
      r = records[block.lane()].row;
      if (block.lane() + 1 < warps) {
        absorb_front(r, records[block.lane() + 1].front);
      } else {
        r.c = T(0);
      }
    }
  });
  const int flags = device::shuffle(block, int(pivots.zero) | (pivots.infinite ? 2 : 0), block.warp());
  if (block.lane() == 31) {
    rows.pivots.zero |= (flags & 1) != 0 ? 1u << (kDepth - 1) : 0u;
    rows.pivots.infinite = rows.pivots.infinite || (flags & 2) != 0;
  }
  const V x_last = device::shuffle(block, x, block.warp());
  const V before = device::shuffle(block, x, block.warp() - 1);
  Warp::template descend<kUnrolled>(block, rows, row, x_last, block.warp() == 0 ? V{} : before, 32);
}

/// One system per block.
template <class T, int kDepth, bool kFull>
struct BlockRegpackAgent {
  static constexpr int kMaxThreads = kRegpackThreads<T, kDepth>;
  static constexpr int kMinBlocks = 1;
  using Parameters = RegpackParameters<T>;
  using Warp = RegpackLaneOf<T, kDepth, kFull>;
  static constexpr std::bool_constant<kFull> kIsFull{};
  static constexpr bool kSpans = kDepth % 2 != 0;  ///< lanes need not be filled
  using Index = std::conditional_t<kFull, int32_t, int64_t>;
  static constexpr size_t shared_bytes(int threads) {
    const size_t warps = threads / 32;
    return warps * Warp::kWarpBytes + 2 * warps * sizeof(WarpRecord<T>) + 16;
  }

  /// Rows of the run's system.
  static WARPLOOM_DEVICE int64_t rows_of(const Parameters& p, const Run& run) {
    return kFull ? p.full.n : p.batch.rows(run.system);
  }
  static WARPLOOM_DEVICE Index problems(const Parameters& p) {
    if constexpr (kFull) return p.full.systems;
    else return p.batch.problems();
  }
  static WARPLOOM_DEVICE const auto& target(const Parameters& p) {
    if constexpr (kFull) return p.full;
    else return p.batch;
  }
  static WARPLOOM_DEVICE Run run_of(const device::Block& block, const Parameters& p, Index problem) {
    Run run{32, block.lane(), 0, 0, 0, 0, 0, int64_t(block.warp()) * Warp::kWarpRows};
    run.system = problem;
    if constexpr (kFull) {
      run.origin = problem;
      run.rows = Warp::kWarpRows;
      if constexpr (kSpans) {
        const int left = p.full.n - static_cast<int>(run.first_row);
        run.rows = left < 0 ? 0 : left < run.rows ? left : run.rows;
      }
      return run;
    }
    if (p.batch.rhs_count != 1) {
      run.system = problem / p.batch.rhs_count;
      run.rhs = problem % p.batch.rhs_count;
    }
    run.origin = p.batch.origin(run.system);
    const int64_t left = p.batch.rows(run.system) - run.first_row;
    run.rows = static_cast<int>(left < 0 ? 0 : left < Warp::kWarpRows ? left : Warp::kWarpRows);
    return run;
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const Batch<T>& batch = p.batch;
    const int warps = block.threads() / 32;
    const Warp warp(block.shared<T>(block.warp() * Warp::kWarpBytes));
    auto* records = block.shared<WarpRecord<T>>(warps * Warp::kWarpBytes);
    int* verdicts = reinterpret_cast<int*>(records + 2 * warps);
    if (block.thread() < 2) verdicts[block.thread()] = 0;
    auto tiles = Tiles<Index>::of(static_cast<Index>(block.index()), static_cast<Index>(block.count()), problems(p),
                                  static_cast<Index>(p.span));
    Run next{};
    Index previous = -1;
    int parity = 0;
    for (Index problem = -1;;) {
      typename Warp::Rows rows;
      const Run run = next;
      if (problem >= 0) {
        device::async_wait<0>(block);
        block.sync_warp();
        if constexpr (kFull && kSpans) warp.take(block, p.full, run, rows);
        else warp.take(p.inputs, run, block.lane(), rows_of(p, run), rows);
        block.sync_warp();
      }
      const bool more = tiles.next < tiles.end;
      if (more) {
        next = run_of(block, p, tiles.next);
        const bool keep = problem >= 0 && (p.shared_bands || (p.span > 0 && next.system == run.system));
        warp.load(block, p.source(kIsFull), next, keep);
        device::async_commit(block);
      }
      if (problem >= 0) {
        solve_in_block<Warp, kDepth, kFull>(block, rows, records + parity * warps, [&] {
          if (block.thread() == 0 && previous >= 0) {
            store_verdict(target(p), previous, verdicts[parity ^ 1]);
            verdicts[parity ^ 1] = 0;
          }
        });
        if (Warp::suspicious(rows)) {
          device::atomic_min(&verdicts[parity], Warp::inspect(batch, run, rows_of(p, run), rows));
        }
        warp.store(block, target(p), run, run, rows);
        previous = problem;
        parity ^= 1;
      }
      if (!more) break;
      problem = tiles.next;
      tiles.next += tiles.step;
    }
    if (previous < 0) return;
    block.sync();
    if (block.thread() == 0) store_verdict(target(p), previous, verdicts[parity ^ 1]);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
