// Several time steps per pass over memory, in one dimension. A block computes a tile of cells that its warps share, each with its part in
// registers; neighbours in other lanes come by shuffles. The outermost lanes of a warp overlap with the warps beside it: when the steps of
// a round have used up the overlap, warps give each other these lanes through shared memory. The margins of a tile last for a whole pass,
// and are computed by two blocks.
//
// The scheme is printed (lib/stencil/compile/line.ts) as for streaming.cuh, as a single row with columns along y, and with
//   kWarps, kHaloLanes: warps of a block, and lanes at each side that a warp shares; kRound: steps that these last;
//   kUnroll: steps without a branch in between; beside(stage, component): whether it is read beside the cell itself
//   shares(stage): whether its cells share work; then cells<stage>(lane, q, made) makes those of a lane in place of stage(…)
#pragma once
#include "cuda/stencil/scheme.cuh"

namespace warploom::WARPLOOM_TARGET::stencil {

template <class Scheme>
struct LineAgent {
  using T = typename Scheme::Real;
  using Block = device::Block;
  static constexpr int kStages = Scheme::kStages, kDepth = Scheme::kDepth, kP = Scheme::kPoints, kR = Scheme::kReachY;
  static constexpr int kFields = Scheme::kFields, kComponents = Scheme::kComponents, kWide = kP + 2 * kR, kWarps = Scheme::kWarps;
  static constexpr int kMaxThreads = 32 * kWarps, kMinBlocks = Scheme::kMinBlocks, kRound = Scheme::kRound, kUnroll = Scheme::kUnroll;
  static constexpr int kLanes = Scheme::kHaloLanes, kHalo = kLanes * kP, kStride = 32 * kP - 2 * kHalo;
  static constexpr int kTile = kWarps * kStride + 2 * kHalo, kMargin = kDepth * kStages * kR, kNever = 2147483647;
  static_assert(kWarps == 1 || kRound * kStages * kR <= kHalo, "a round uses up more than the warps share");
  static_assert(kWarps == 1 || 4 * kLanes <= 32, "the lanes that a warp gives and those that it gets are different ones");
  /// Cells of a warp in shared memory, on their way from and to memory: padded, so that lanes that read theirs have no bank conflicts.
  static constexpr int kLaneReals = kP | 1, kStageReals = 32 * kLaneReals, kHaloReals = kWarps * 2 * kFields * kHalo;
  using Parameters = LineParameters<T, kStages>;
  using Q = Scalars<T, Scheme::kParameters>;
  using Row = T[kComponents][kWide];

  /// What a warp knows about its part of the tile.
  struct Task {
    int first;     ///< the column of its first cell
    int low, high;  ///< columns that the tile stores
    bool at_left, at_right;  ///< cells beyond a boundary that is not periodic are in lanes of this warp
    int own_from, own_end;   ///< points of this lane that are stored here
    const T* y;
    T* o;
  };

  static WARPLOOM_DEVICE Task task_of(const Block& block, const Parameters& p) {
    const int index = static_cast<int>(block.index()), member = index / p.tiles, tile = index - member * p.tiles;
    const bool is_last = tile == p.tiles - 1;
    constexpr int kOwn = kTile - 2 * kMargin;
    Task task;
    int base;  // of the tile
    if (Scheme::kPeriodicY) {
      base = tile * kOwn - kMargin;
      task.low = tile * kOwn;
      task.high = is_last ? p.n : task.low + kOwn;
    } else {
      // Cells at a boundary are in the first lane that no warp shares, and the tile has no margin there; other tiles begin a margin before
      // what they store. The last one stores all that it can: the others' margins do not reach beyond the boundary then.
      constexpr int kFirst = kTile - kHalo - kMargin;
      const int begin = kFirst + (tile - 1) * kOwn;
      base = tile == 0 ? -kHalo : is_last ? p.n + kHalo - kTile : begin - kMargin;
      task.low = tile == 0 ? 0 : is_last ? p.n - kFirst : begin;
      task.high = tile == 0 ? kFirst : begin + kOwn;
      if (is_last) task.high = p.n;
      else if (task.high > p.n - kFirst) task.high = p.n - kFirst;
    }
    task.at_left = !Scheme::kPeriodicY && tile == 0;
    task.at_right = !Scheme::kPeriodicY && is_last;
    place(block, p, member, base, task);
    return task;
  }
  /// Completes the task of a warp in a tile from `base` on that stores columns from low to high and is at_left, at_right of a boundary.
  static WARPLOOM_DEVICE void place(const Block& block, const Parameters& p, int member, int base, Task& task) {
    const int warp = block.warp(), lane = block.lane();
    task.at_left = task.at_left && warp == 0;
    task.at_right = task.at_right && warp == kWarps - 1;
    task.first = base + warp * kStride;
    const int own = task.first + lane * kP;
    task.own_from = task.low - own;
    task.own_end = keeps(warp, lane) ? task.high - own : 0;
    task.y = p.y + static_cast<int64_t>(member) * kFields * p.n;
    task.o = p.o + static_cast<int64_t>(member) * kFields * p.n;
  }
  /// Whether a lane's cells are those of its warp alone.
  static WARPLOOM_DEVICE bool keeps(int warp, int lane) {
    return (lane >= kLanes || warp == 0) && (lane < 32 - kLanes || warp == kWarps - 1);
  }

  static WARPLOOM_DEVICE T* stage_of(const Block& block, int f, int i) {
    return block.shared<T>() + 2 * kHaloReals + (block.warp() * kFields + f) * kStageReals + i + (kLaneReals - kP) * (i / kP);
  }
  static WARPLOOM_DEVICE void load(const Block& block, const Parameters& p, const Task& task, Row& row) {
    const bool whole = task.first >= 0 && task.first + 32 * kP <= p.n;
    WARPLOOM_UNROLL
    for (int f = 0; f < kFields; ++f) {
      const T* const from = task.y + static_cast<int64_t>(f) * p.n;
      if (whole) {
        WARPLOOM_UNROLL
        for (int r = 0; r < kP; ++r) *stage_of(block, f, r * 32 + block.lane()) = from[task.first + r * 32 + block.lane()];
      } else {
        // Several at a time: all tiles wait for those at the ends.
        constexpr int kAtOnce = kP < 8 ? kP : 8;
        WARPLOOM_NO_UNROLL
        for (int begin = 0; begin < kP; begin += kAtOnce) {
          T got[kAtOnce];
          WARPLOOM_UNROLL
          for (int r = 0; r < kAtOnce; ++r) {
            got[r] = from[inside<Scheme::kPeriodicY>(task.first + (begin + r) * 32 + block.lane(), p.n)];
          }
          WARPLOOM_UNROLL
          for (int r = 0; r < kAtOnce; ++r) {
            if (begin + r < kP) *stage_of(block, f, (begin + r) * 32 + block.lane()) = got[r];
          }
        }
      }
    }
    block.sync_warp();
    WARPLOOM_UNROLL
    for (int f = 0; f < kFields; ++f) {
      WARPLOOM_UNROLL
      for (int e = 0; e < kP; ++e) row[f][kR + e] = *stage_of(block, f, block.lane() * kP + e);
    }
  }
  static WARPLOOM_DEVICE void store(const Block& block, const Parameters& p, const Task& task, const Row& row) {
    block.sync_warp();
    WARPLOOM_UNROLL
    for (int f = 0; f < kFields; ++f) {
      WARPLOOM_UNROLL
      for (int e = 0; e < kP; ++e) *stage_of(block, f, block.lane() * kP + e) = row[f][kR + e];
    }
    block.sync_warp();
    WARPLOOM_UNROLL
    for (int f = 0; f < kFields; ++f) {
      T* const to = task.o + static_cast<int64_t>(f) * p.n;
      WARPLOOM_UNROLL
      for (int r = 0; r < kP; ++r) {
        const int i = r * 32 + block.lane(), column = task.first + i;
        if (keeps(block.warp(), i / kP) && column >= task.low && column < task.high) to[column] = *stage_of(block, f, i);
      }
    }
  }

  struct Reader {
    const Row& row;
    const Parameters& p;
    const Task& task;
    int own, at;
    template <int kComponent, int, int kDy>
    WARPLOOM_DEVICE T get() const { return row[kComponent][kR + at + kDy]; }
    template <int kNumber, int, int kDy>
    WARPLOOM_DEVICE T coefficient() const {
      return p.c[static_cast<int64_t>(kNumber) * p.n + inside<Scheme::kPeriodicY>(own + at + kDy, p.n)];
    }
  };
  /// A lane's cells before a stage.
  struct Lane {
    const Block& block;
    const Row& row;
    const Parameters& p;
    const Task& task;
    int own;
    WARPLOOM_DEVICE Reader cell(int e) const { return {row, p, task, own, e}; }
    WARPLOOM_DEVICE int column(int e) const { return Scheme::kPeriodicY ? wrapped(own + e, p.n) : own + e; }
    /// Completes what the lane's own cells have made, from place kPad on, by what the lanes beside it have: for kLow cells before, and
    /// kHigh cells behind.
    template <int kPad, int kLow, int kHigh>
    WARPLOOM_DEVICE void spread(T (&made)[kP + 2 * kPad]) const {
      WARPLOOM_UNROLL
      for (int k = 1; k <= kLow; ++k) made[kPad - k] = device::shuffle_up(block, made[kPad + kP - k], 1);
      WARPLOOM_UNROLL
      for (int k = 1; k <= kHigh; ++k) made[kPad + kP - 1 + k] = device::shuffle_down(block, made[kPad + k - 1], 1);
    }
  };
  struct InnerColumns {
    const T (&values)[kFields][Scheme::kInnerY];
    template <int kField, int kDistance>
    WARPLOOM_DEVICE T get() const { return values[kField][kDistance]; }
  };

  template <int kSide, int kK>
  static WARPLOOM_DEVICE void put_ghosts(int lane, const InnerColumns& inner, const Q& q, Row& row) {
    if constexpr (kK <= kR) {
      T made[kFields];
      Scheme::template ghost_y<kSide, kK>(inner, q, Scheme::centre_x(0), made);
      if (lane == (kSide == 0 ? kLanes - 1 : 32 - kLanes)) {
        WARPLOOM_UNROLL
        for (int f = 0; f < kFields; ++f) row[f][kR + (kSide == 0 ? kP - kK : kK - 1)] = made[f];
      }
      put_ghosts<kSide, kK + 1>(lane, inner, q, row);
    }
  }
  /// Puts what the conditions say beyond a boundary into the lane beside it.
  template <int kSide>
  static WARPLOOM_DEVICE void ghosts(const Block& block, const Q& q, Row& row) {
    T values[kFields][Scheme::kInnerY];
    WARPLOOM_UNROLL
    for (int f = 0; f < kFields; ++f) {
      WARPLOOM_UNROLL
      for (int m = 0; m < Scheme::kInnerY; ++m) {
        values[f][m] = device::shuffle(block, row[f][kR + (kSide == 0 ? m : kP - 1 - m)], kSide == 0 ? kLanes : 31 - kLanes);
      }
    }
    const InnerColumns inner{values};
    put_ghosts<kSide, 1>(block.lane(), inner, q, row);
  }

  /// Whether the cells that this lane stores are finite and admissible.
  static WARPLOOM_DEVICE bool is_good(const Task& task, const Q& q, const Row& row) {
    bool good = true;
    WARPLOOM_UNROLL
    for (int e = 0; e < kP; ++e) {
      T fields[kFields];
      WARPLOOM_UNROLL
      for (int f = 0; f < kFields; ++f) fields[f] = row[f][kR + e];
      good = good & (Scheme::check(fields, q) != 0 || e < task.own_from || e >= task.own_end);
    }
    return good;
  }

  template <int kStage>
  static WARPLOOM_DEVICE void stages(const Block& block, const Parameters& p, const Task& task, Q& q, double t, int step, Row& row,
                                     int& bad) {
    if constexpr (kStage < kStages) {
      constexpr bool kChecks = Scheme::kChecksAll && kStage == kStages - 1;
      q.t = static_cast<T>(t + p.time[kStage]);
      q.h = p.h[kStage];
      q.g = p.g[kStage];
      if constexpr (!Scheme::kPeriodicY) {
        if (task.at_left) ghosts<0>(block, q, row);
        if (task.at_right) ghosts<1>(block, q, row);
      }
      WARPLOOM_UNROLL
      for (int c = 0; c < kComponents; ++c) {
        if (!Scheme::beside(kStage, c)) continue;
        WARPLOOM_UNROLL
        for (int k = 1; k <= kR; ++k) {
          row[c][kR - k] = device::shuffle_up(block, row[c][kR + kP - k], 1);
          row[c][kR + kP - 1 + k] = device::shuffle_down(block, row[c][kR + k - 1], 1);
        }
      }
      const int own = task.first + block.lane() * kP;
      T made[kP][kComponents];
      const Lane cells{block, row, p, task, own};
      if constexpr (Scheme::shares(kStage)) {
        Scheme::template cells<kStage>(cells, q, made);
      } else {
        WARPLOOM_UNROLL
        for (int e = 0; e < kP; ++e) {
          T out[kComponents] = {};
          Scheme::template stage<kStage>(cells.cell(e), q, Scheme::centre_x(0), Scheme::centre_y(cells.column(e)), out);
          WARPLOOM_UNROLL
          for (int c = 0; c < kComponents; ++c) made[e][c] = out[c];
        }
      }
      WARPLOOM_UNROLL
      for (int e = 0; e < kP; ++e) {
        WARPLOOM_UNROLL
        for (int c = 0; c < kComponents; ++c) row[c][kR + e] = made[e][c];
      }
      if constexpr (kChecks) {
        if (!is_good(task, q, row) && p.step + step < bad) bad = p.step + step;
      }
      stages<kStage + 1>(block, p, task, q, t, step, row, bad);
    }
  }

  /// Where in a half of the shared lanes the lanes that warp `warp` gives to its left (side 0) or right begin.
  static WARPLOOM_DEVICE int halo(int warp, int side) { return (warp * 2 + side) * kFields * kHalo; }
  /// Before the barrier of an exchange: the lanes that warps beside this one share. Halves take turns, so that one barrier is enough.
  static WARPLOOM_DEVICE void give(const Block& block, int round, const Row& row) {
    const int lane = block.lane(), from_right = lane - (32 - 2 * kLanes);
    int at = -1;
    if (lane >= kLanes && lane < 2 * kLanes) at = halo(block.warp(), 0) + lane - kLanes;
    if (from_right >= 0 && from_right < kLanes) at = halo(block.warp(), 1) + from_right;
    if (at < 0) return;
    T* const to = block.shared<T>() + (round & 1) * kHaloReals + at;
    WARPLOOM_UNROLL
    for (int f = 0; f < kFields; ++f) {
      WARPLOOM_UNROLL
      for (int e = 0; e < kP; ++e) to[(f * kP + e) * kLanes] = row[f][kR + e];
    }
  }
  /// After it: those that they give to this one.
  static WARPLOOM_DEVICE void get(const Block& block, int round, Row& row) {
    const int lane = block.lane(), warp = block.warp(), from_right = lane - (32 - kLanes);
    int at = -1;
    if (lane < kLanes && warp > 0) at = halo(warp - 1, 1) + lane;
    if (from_right >= 0 && warp < kWarps - 1) at = halo(warp + 1, 0) + from_right;
    if (at < 0) return;
    const T* const from = block.shared<T>() + (round & 1) * kHaloReals + at;
    WARPLOOM_UNROLL
    for (int f = 0; f < kFields; ++f) {
      WARPLOOM_UNROLL
      for (int e = 0; e < kP; ++e) row[f][kR + e] = from[(f * kP + e) * kLanes];
    }
  }

  static WARPLOOM_DEVICE Q scalars_of(const Parameters& p, int member) {
    Q q;
    q.dt = p.dt;
    q.n0 = 1;
    q.n1 = p.n;
    WARPLOOM_UNROLL
    for (int i = 0; i < Scheme::kParameters; ++i) q.p[i] = p.p[static_cast<int64_t>(member) * Scheme::kParameters + i];
    return q;
  }
  /// Takes steps from number `i` of the launch to `end`, at most kRound.
  static WARPLOOM_DEVICE void take(const Block& block, const Parameters& p, const Task& task, Q& q, int i, int end, Row& row, int& bad) {
    const auto step = [&](int k) {
      stages<0>(block, p, task, q, p.origin + static_cast<double>(p.from + k) * p.unit, k, row, bad);
    };
    WARPLOOM_NO_UNROLL
    for (; kUnroll > 1 && i + kUnroll <= end; i += kUnroll) {
      WARPLOOM_UNROLL
      for (int k = 0; k < kUnroll; ++k) step(i + k);
    }
    WARPLOOM_NO_UNROLL
    for (; i < end; ++i) step(i);
  }

  static WARPLOOM_DEVICE void run(const Block& block, const Parameters& p) {
    const Task task = task_of(block, p);
    Q q = scalars_of(p, static_cast<int>(block.index()) / p.tiles);
    Row row = {};
    load(block, p, task, row);
    int bad = kNever;
    WARPLOOM_NO_UNROLL
    for (int done = 0; done < p.steps; done += kRound) {
      if (kWarps > 1 && done > 0) {
        give(block, done / kRound, row);
        block.sync();
        get(block, done / kRound, row);
      }
      take(block, p, task, q, done, p.steps < done + kRound ? p.steps : done + kRound, row, bad);
    }
    if constexpr (!Scheme::kChecksAll) {
      if (!is_good(task, q, row)) bad = p.step;
    }
    store(block, p, task, row);
    if (bad != kNever) device::atomic_min(p.status, bad);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::stencil
