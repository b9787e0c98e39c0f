// The Thomas algorithm (Thomas 1949), one thread per problem, one warp per block. Asynchronous copies bring rows
// through tiles in shared memory; two tiles are in flight while a third is processed. If the rows of a problem are
// contiguous, a tile also transposes them, as 32 problems x 64 bytes of rows. c' and d' go to shared memory or to a
// workspace, and come back in the same way.
#pragma once
#include "cuda/core/stage.cuh"
#include "cuda/tridiagonal/rows.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// kStaged: a tile is moved as lines of its problems' rows; otherwise each lane moves its own problem.
template <class T, bool kStaged>
struct ThomasAgent {
  static constexpr int kMaxThreads = 32;
  static constexpr int kMinBlocks = 8;
  static constexpr int kRows = 64 / static_cast<int>(sizeof(T));  ///< of one tile
  static constexpr int kStages = 3;
  using Lines = Stage<T, kRows>;
  using Pack = device::Pack<T>;
  static constexpr int kPerChunk = Lines::kPerChunk, kChunks = Lines::kLaneChunks;
  static constexpr size_t kTileBytes = 4 * Lines::kBytes;
  static constexpr size_t kRingBytes = kStages * kTileBytes;

  struct Parameters {
    Batch<T> batch;
    /// c' and d' of every slot, one chunk after another; null: in shared memory after the tiles.
    Pack* factors = nullptr;
    int64_t slots = 0;        ///< problems processed at once
    bool chunks = false;      ///< kStaged: is_uniform, moved 16 bytes at a time
    /// Not kStaged: the elements of all inputs are whole and aligned in memory.
    bool copies = false;
  };

  /// Chunks of the factors of one problem.
  static WARPLOOM_HOST_DEVICE int64_t chunks_of(int64_t n) { return (n + kPerChunk - 1) / kPerChunk; }
  static int64_t factor_bytes(int64_t n) { return 2 * 16 * chunks_of(n); }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t slots = block.count() * 32;
    for (int64_t first = block.index() * 32; first < p.batch.problems(); first += slots) solve(block, p, first);
  }

 private:
  /// A lane's problem, and the warp's.
  struct Work {
    Problem problem;
    int64_t first;   ///< the first lane's problem
    int tiles;       ///< of the warp's largest problem
    Pack *upper, *value;
    int64_t apart;   ///< distance between chunks of the factors
  };
  /// c' and d' of the previous row.
  struct Running {
    T c, d;
  };

  static WARPLOOM_DEVICE void solve(const device::Block& block, const Parameters& p, int64_t first) {
    const int lane = block.lane();
    Work w;
    w.first = first;
    w.problem = problem_of(p.batch, first + lane);
    int64_t rows = w.problem.rows;
    WARPLOOM_UNROLL
    for (int mask = 16; mask > 0; mask /= 2) {
      const int64_t other = device::shuffle_xor(block, rows, mask);
      rows = other > rows ? other : rows;
    }
    w.tiles = static_cast<int>((rows + kRows - 1) / kRows);
    w.apart = p.factors != nullptr ? p.slots : 32;
    w.upper = p.factors != nullptr ? p.factors + block.index() * 32 + lane : block.shared<Pack>(kRingBytes) + lane;
    w.value = w.upper + w.apart * chunks_of(p.batch.n);
    Outcome outcome;
    forward(block, p, w, outcome);
    if (p.factors != nullptr) device::fence_device();  // read again by asynchronous copies
    block.sync_warp();
    backward(block, p, w, outcome);
    block.sync_warp();
    if (w.problem.index < p.batch.problems()) write_outcome(p.batch, w.problem.index, outcome);
  }

  static WARPLOOM_DEVICE T* tile(const device::Block& block, int t, int array) {
    return block.shared<T>(t % kStages * kTileBytes) + array * Lines::kElements;
  }

  static WARPLOOM_DEVICE void forward(const device::Block& block, const Parameters& p, const Work& w, Outcome& outcome) {
    WARPLOOM_NO_UNROLL
    for (int t = 0; t < kStages - 1; ++t) {
      fetch(block, p, w, t);
      device::async_commit(block);
    }
    Running at{zero<T>(), zero<T>()};
    WARPLOOM_NO_UNROLL
    for (int t = 0; t < w.tiles; ++t) {
      device::async_wait<kStages - 2>(block);
      block.sync_warp();
      fetch(block, p, w, t + kStages - 1);
      device::async_commit(block);
      WARPLOOM_NO_UNROLL
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        const int64_t i = int64_t{t} * kRows + chunk * kPerChunk;
        if (i >= w.problem.rows) break;
        Row<T> rows[kPerChunk];
        read(block, t, chunk, rows);
        if (i == 0) rows[0].a = zero<T>();
        if (i + kPerChunk >= w.problem.rows) end_rows(rows, w.problem.rows - i);
        Pack upper, value;
        eliminate(rows, i, w.problem.rows, at, upper, value, outcome);
        const int64_t place = i / kPerChunk * w.apart;
        w.upper[place] = upper;
        w.value[place] = value;
      }
    }
    device::async_wait<0>(block);
  }

  /// Clears the upper entry of the last of `count` rows; entries after it become identity rows.
  static WARPLOOM_DEVICE void end_rows(Row<T> (&rows)[kPerChunk], int64_t count) {
    WARPLOOM_UNROLL
    for (int e = 0; e < kPerChunk; ++e) {
      if (e + 1 == count) rows[e].c = zero<T>();
      if (e >= count) rows[e] = {zero<T>(), T(RealOf<T>(1)), zero<T>(), zero<T>()};
    }
  }

  static WARPLOOM_DEVICE void read(const device::Block& block, int t, int chunk, Row<T> (&rows)[kPerChunk]) {
    if constexpr (kStaged) {
      const int place = Lines::place_chunk(block.lane() * kChunks + chunk);
      Pack pack[4];
      WARPLOOM_UNROLL
      for (int k = 0; k < 4; ++k) pack[k] = reinterpret_cast<const Pack*>(tile(block, t, k))[place];
      WARPLOOM_UNROLL
      for (int e = 0; e < kPerChunk; ++e) rows[e] = {pack[0].item[e], pack[1].item[e], pack[2].item[e], pack[3].item[e]};
    } else {
      WARPLOOM_UNROLL
      for (int e = 0; e < kPerChunk; ++e) {
        const int place = (chunk * kPerChunk + e) * 32 + block.lane();
        rows[e] = {tile(block, t, 0)[place], tile(block, t, 1)[place], tile(block, t, 2)[place], tile(block, t, 3)[place]};
      }
    }
  }

  /// c' = c / (b - a c'), d' = (d - a d') / (b - a c'), with one reciprocal; repeated exactly if a row is not ordinary.
  static WARPLOOM_DEVICE void eliminate(const Row<T> (&rows)[kPerChunk], int64_t first, int64_t count, Running& at,
                                        Pack& upper, Pack& value, Outcome& outcome) {
    const Running before = at;
    bool ordinary = true;
    WARPLOOM_UNROLL
    for (int e = 0; e < kPerChunk; ++e) {
      const Row<T>& row = rows[e];
      const T pivot = device::fma(-row.a, at.c, row.b);
      const T inverse = device::ordinary_reciprocal(pivot, ordinary);
      ordinary = ordinary & device::is_finite(row.a) & device::is_finite(row.b) & device::is_finite(row.c) &
                 device::is_finite(row.d);
      at.d = device::fma(-row.a, at.d, row.d) * inverse;
      at.c = row.c * inverse;
      upper.item[e] = at.c;
      value.item[e] = at.d;
    }
    if (__builtin_expect(ordinary, 1)) return;
    at = before;
    WARPLOOM_UNROLL
    for (int e = 0; e < kPerChunk; ++e) {
      const Row<T>& row = rows[e];
      const T pivot = device::fma(-row.a, at.c, row.b);
      if (first + e < count) {
        outcome.check_input(row, first + e);
        outcome.check_pivot(pivot, first + e);
      }
      const T inverse = device::reciprocal(pivot);
      at.d = device::fma(-row.a, at.d, row.d) * inverse;
      at.c = row.c * inverse;
      upper.item[e] = at.c;
      value.item[e] = at.d;
    }
  }

  static WARPLOOM_DEVICE void backward(const device::Block& block, const Parameters& p, const Work& w, Outcome& outcome) {
    const int last = w.tiles - 1;
    WARPLOOM_NO_UNROLL
    for (int t = last; t > last - (kStages - 1); --t) {
      fetch_factors(block, p, w, t);
      device::async_commit(block);
    }
    T x = zero<T>();
    WARPLOOM_NO_UNROLL
    for (int t = last; t >= 0; --t) {
      device::async_wait<kStages - 2>(block);
      fetch_factors(block, p, w, t - (kStages - 1));
      device::async_commit(block);
      WARPLOOM_UNROLL
      for (int chunk = kChunks - 1; chunk >= 0; --chunk) {
        const int64_t i = int64_t{t} * kRows + chunk * kPerChunk;
        if (i >= w.problem.rows) continue;
        const int64_t place = i / kPerChunk * w.apart;
        const Pack* const ring = reinterpret_cast<const Pack*>(tile(block, t, 0)) + block.lane();
        const Pack upper = p.factors != nullptr ? ring[chunk * 32] : w.upper[place];
        const Pack value = p.factors != nullptr ? ring[(kChunks + chunk) * 32] : w.value[place];
        Pack pack;
        bool finite = true;
        WARPLOOM_UNROLL
        for (int e = kPerChunk - 1; e >= 0; --e) {
          x = device::fma(-upper.item[e], x, value.item[e]);
          finite = finite & device::is_finite(x);
          pack.item[e] = x;
        }
        if (__builtin_expect(!finite, 0)) {
          WARPLOOM_UNROLL
          for (int e = 0; e < kPerChunk; ++e) {
            if (i + e < w.problem.rows) outcome.check_solution(pack.item[e], i + e);
          }
        }
        put_unknowns(block, p, w, t, chunk, pack);
      }
      if constexpr (kStaged) {
        block.sync_warp();
        scatter(block, p, w, t);
        block.sync_warp();
      }
    }
    device::async_wait<0>(block);
  }

  /// Where tile t's unknowns wait to be written: after its factors.
  static WARPLOOM_DEVICE T* unknowns(const device::Block& block, int t) { return tile(block, t, 2); }

  static WARPLOOM_DEVICE void put_unknowns(const device::Block& block, const Parameters& p, const Work& w, int t, int chunk,
                                           const Pack& pack) {
    if constexpr (kStaged) {
      reinterpret_cast<Pack*>(unknowns(block, t))[Lines::place_chunk(block.lane() * kChunks + chunk)] = pack;
    } else {
      const int64_t i = int64_t{t} * kRows + chunk * kPerChunk;
      const int64_t at = p.batch.solution.index(w.problem.origin, i, w.problem.rhs);
      WARPLOOM_UNROLL
      for (int e = 0; e < kPerChunk; ++e) {
        if (i + e < w.problem.rows) p.batch.solution.store(at + e * p.batch.solution.row_stride, pack.item[e]);
      }
    }
  }

  /// Starts moving a lane's factors of tile t back into the ring.
  static WARPLOOM_DEVICE void fetch_factors(const device::Block& block, const Parameters& p, const Work& w, int t) {
    if (p.factors == nullptr || t < 0) return;
    Pack* const ring = reinterpret_cast<Pack*>(tile(block, t, 0)) + block.lane();
    WARPLOOM_UNROLL
    for (int chunk = 0; chunk < kChunks; ++chunk) {
      const int64_t i = int64_t{t} * kRows + chunk * kPerChunk;
      if (i >= w.problem.rows) continue;
      const int64_t place = i / kPerChunk * w.apart;
      device::async_copy<16>(block, ring + chunk * 32, w.upper + place);
      device::async_copy<16>(block, ring + (kChunks + chunk) * 32, w.value + place);
    }
  }

  /// Starts moving tile t's rows in.
  static WARPLOOM_DEVICE void fetch(const device::Block& block, const Parameters& p, const Work& w, int t) {
    if (t >= w.tiles) return;
    if constexpr (kStaged) {
      if (p.chunks) {
        fetch_chunks(block, p.batch.lower, p, w, t, 0);
        fetch_chunks(block, p.batch.diagonal, p, w, t, 1);
        fetch_chunks(block, p.batch.upper, p, w, t, 2);
        fetch_chunks(block, p.batch.rhs, p, w, t, 3);
        return;
      }
      gather(block, p.batch.lower, w, t, 0, 1, 0);
      gather(block, p.batch.diagonal, w, t, 1, 0, 0);
      gather(block, p.batch.upper, w, t, 2, 0, 1);
      gather(block, p.batch.rhs, w, t, 3, 0, 0);
    } else {
      fetch_own(block, p.batch.lower, p, w, t, 0, 1, 0);
      fetch_own(block, p.batch.diagonal, p, w, t, 1, 0, 0);
      fetch_own(block, p.batch.upper, p, w, t, 2, 0, 1);
      fetch_own(block, p.batch.rhs, p, w, t, 3, 0, 0);
    }
  }

  /// Four lanes move 64 bytes of one problem.
  static WARPLOOM_DEVICE void fetch_chunks(const device::Block& block, const Strided<T>& from, const Parameters& p,
                                           const Work& w, int t, int array) {
    constexpr int kAtOnce = 32 / kChunks;
    const int lane = block.lane(), own = lane / kChunks;
    const int64_t i = int64_t{t} * kRows + lane % kChunks * kPerChunk, left = p.batch.n - i;
    const int64_t problems = p.batch.systems - w.first - own;
    const T* at = from.data + (w.first + own) * from.system_stride + i;
    T* const to = tile(block, t, array);
    WARPLOOM_UNROLL
    for (int turn = 0; turn < kChunks; ++turn) {
      const int place = Lines::place_chunk(lane + turn * 32) * kPerChunk;
      if (turn * kAtOnce < problems) {
        if (left >= kPerChunk) {
          device::async_copy<16>(block, to + place, at);
        } else {
          WARPLOOM_UNROLL
          for (int e = 0; e < kPerChunk; ++e) {
            if (e < left) to[place + e] = at[e];
          }
        }
      }
      at += kAtOnce * from.system_stride;
    }
  }

  /// kRows neighbouring rows of each of the 32 problems, without the first `skip_first` and the last `skip_last` rows
  /// of each.
  static WARPLOOM_DEVICE void gather(const device::Block& block, const Strided<T>& from, const Work& w, int t, int array,
                                     int skip_first, int skip_last) {
    const int64_t base = from.index(w.problem.origin, 0, w.problem.rhs), last = w.problem.rows - skip_last;
    T* const to = tile(block, t, array);
    WARPLOOM_UNROLL
    for (int turn = 0; turn < kRows; ++turn) {
      const int element = turn * 32 + block.lane(), s = element / kRows;
      const int64_t i = int64_t{t} * kRows + element % kRows;
      const int64_t s_base = device::shuffle(block, base, s), s_last = device::shuffle(block, last, s);
      if (i >= skip_first && i < s_last) to[Lines::place(element)] = from.load(s_base + i * from.row_stride);
    }
  }

  /// The rows of the lane's own problem, which no other lane reads.
  static WARPLOOM_DEVICE void fetch_own(const device::Block& block, const Strided<T>& from, const Parameters& p,
                                        const Work& w, int t, int array, int skip_first, int skip_last) {
    const int64_t first = int64_t{t} * kRows;
    int64_t at = from.index(w.problem.origin, first, w.problem.rhs);
    T* const to = tile(block, t, array) + block.lane();
    WARPLOOM_UNROLL
    for (int r = 0; r < kRows; ++r) {
      if (first + r >= skip_first && first + r < w.problem.rows - skip_last) {
        if (p.copies) {
          device::async_copy<static_cast<int>(sizeof(T))>(block, to + r * 32, from.data + at);
        } else {
          to[r * 32] = from.load(at);
        }
      }
      at += from.row_stride;
    }
  }

  static WARPLOOM_DEVICE void scatter(const device::Block& block, const Parameters& p, const Work& w, int t) {
    const Strided<T>& to = p.batch.solution;
    const T* const from = unknowns(block, t);
    if (p.chunks) {
      constexpr int kAtOnce = 32 / kChunks;
      const int lane = block.lane(), own = lane / kChunks;
      const int64_t i = int64_t{t} * kRows + lane % kChunks * kPerChunk, left = p.batch.n - i;
      const int64_t problems = p.batch.systems - w.first - own;
      T* at = to.data + (w.first + own) * to.system_stride + i;
      WARPLOOM_UNROLL
      for (int turn = 0; turn < kChunks; ++turn) {
        const Pack pack = reinterpret_cast<const Pack*>(from)[Lines::place_chunk(lane + turn * 32)];
        if (turn * kAtOnce < problems) {
          if (left >= kPerChunk) {
            *reinterpret_cast<Pack*>(at) = pack;
          } else {
            WARPLOOM_UNROLL
            for (int e = 0; e < kPerChunk; ++e) {
              if (e < left) at[e] = pack.item[e];
            }
          }
        }
        at += kAtOnce * to.system_stride;
      }
      return;
    }
    const int64_t base = to.index(w.problem.origin, 0, w.problem.rhs);
    WARPLOOM_UNROLL
    for (int turn = 0; turn < kRows; ++turn) {
      const int element = turn * 32 + block.lane(), s = element / kRows;
      const int64_t i = int64_t{t} * kRows + element % kRows;
      const int64_t s_base = device::shuffle(block, base, s), s_rows = device::shuffle(block, w.problem.rows, s);
      if (i < s_rows) to.store(s_base + i * to.row_stride, from[Lines::place(element)]);
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
