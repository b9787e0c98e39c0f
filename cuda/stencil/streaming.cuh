// Several time steps per pass over memory, in two dimensions. A warp owns a strip of columns and moves down its rows; the last rows of
// every level (stage of a step) stay in registers, neighbours in other lanes come by shuffles. Columns and rows near the edges of a strip
// and of a chunk of rows are computed by two warps: that is the price for warps that never wait for each other.
//
// The scheme is printed (lib/stencil/compile/scheme.ts) as a type with
//   Real; kFields; kComponents: numbers of a cell between stages, fields first; kStages; kDepth: steps per pass; kPoints: columns per lane;
//   kReachX, kReachY: largest offsets; kPeriodicX, kPeriodicY; kParameters; kInnerY: cells that conditions along y read
//   newest(stage): the last row (offset) that the stage reads beside the column itself; kNone if there is none
//   beside(stage, component, dx): whether that row of the component, or an earlier one up to the newest, is read beside the column itself
//   any_beside(stage, dx): whether that is so for any component
//   stage<s>(at, q, x, y, out): the numbers of a cell after a stage; at.get<component, dx, dy>() reads those before it,
//   at.coefficient<number, dx, dy>() a coefficient
//   ghost_x<side, k>(inner, q, y, out), ghost_y<side, k>(inner, q, x, out): fields of cell k beyond a boundary; inner.get<field,
//   distance>()
//   check(fields, q): 1 if a cell is finite and admissible; kChecksAll: after every step, otherwise after the last one of a pass
//   centre_x(row), centre_y(column): places of cells
#pragma once
#include "cuda/stencil/strip.cuh"

namespace warploom::WARPLOOM_TARGET::stencil {

template <class Scheme>
struct StreamingAgent : Strip<Scheme> {
  using Base = Strip<Scheme>;
  using typename Base::T, typename Base::Parameters, typename Base::Task, typename Base::Row;
  using Block = device::Block;
  using Base::kStages, Base::kLevels, Base::kP, Base::kRx, Base::kRy, Base::kFields, Base::kComponents, Base::kWide, Base::kHalo,
    Base::kRing;
  /// Blocks are single warps, so that all that belongs to a strip is known to be the same in all lanes.
  static constexpr int kMaxThreads = 32, kMinBlocks = Scheme::kMinBlocks;
  static constexpr int kRows = 2 * kRx + 1, kNever = 2147483647;
  static_assert(kRx > 0, "passes stream along x");
  /// Rows by which a level is behind the one before it, beside kRx. The last level takes its row first and the first one last, so that in
  /// an iteration all of them read what earlier ones have made, and none waits for another.
  static constexpr int kLag = 1;
  using Window = Row[kRows];

  /// Slot of the row at an offset from the one that a stage computes, at an iteration with this phase.
  static constexpr WARPLOOM_DEVICE int slot(int phase, int dx) { return (phase - (kRx - dx) + 2 * kRows) % kRows; }

  template <int kPhase>
  struct Reader {
    const Window& window;
    const Parameters& p;
    const Task& task;
    int row, at;
    template <int kComponent, int kDx, int kDy>
    WARPLOOM_DEVICE T get() const { return window[slot(kPhase, kDx)][kComponent][kRy + at + kDy]; }
    template <int kNumber, int kDx, int kDy>
    WARPLOOM_DEVICE T coefficient() const {
      const int x = inside<Scheme::kPeriodicX>(row + kDx, p.n0);
      const int y = kDy == 0 ? task.columns[at] : inside<Scheme::kPeriodicY>(task.own + at + kDy, p.n1);
      return p.c[(static_cast<int64_t>(kNumber) * p.n0 + x) * p.n1 + y];
    }
  };

  /// Rows inside, seen from a boundary across x. kFirst: offset of the nearest one; kWay: to the next.
  template <int kPhase, int kFirst, int kWay>
  struct InnerRows {
    const Window& window;
    int at;
    template <int kField, int kDistance>
    WARPLOOM_DEVICE T get() const {
      constexpr int kDx = kFirst + kWay * kDistance;
      if constexpr (kDx < -kRx || kDx > kRx) return T(0);
      else return window[slot(kPhase, kDx)][kField][kRy + at];
    }
  };
  struct InnerColumns {
    const T (&values)[kFields][Scheme::kInnerY];
    template <int kField, int kDistance>
    WARPLOOM_DEVICE T get() const { return values[kField][kDistance]; }
  };

  /// The number of a row, for its place.
  static WARPLOOM_DEVICE int numbered(const Parameters& p, int row) { return Scheme::kPeriodicX ? wrapped(row, p.n0) : row; }
  /// Brings the columns beside this lane's into its row of a component.
  static WARPLOOM_DEVICE void exchange(const Block& block, T (&row)[kWide]) {
    WARPLOOM_UNROLL
    for (int k = 1; k <= kRy; ++k) {
      row[kRy - k] = device::shuffle_up(block, row[kRy + kP - k], 1);
      row[kRy + kP - 1 + k] = device::shuffle_down(block, row[kRy + k - 1], 1);
    }
  }

  template <int kSide, int kK>
  static WARPLOOM_DEVICE void put_ghosts(int lane, const InnerColumns& inner, const Scalars<T, Scheme::kParameters>& q, int row_number,
                                         Row& row) {
    if constexpr (kK <= kRy) {
      T made[kFields];
      Scheme::template ghost_y<kSide, kK>(inner, q, Scheme::centre_x(row_number), made);
      if (lane == (kSide == 0 ? kHalo - 1 : 32 - kHalo)) {
        WARPLOOM_UNROLL
        for (int f = 0; f < kFields; ++f) row[f][kRy + (kSide == 0 ? kP - kK : kK - 1)] = made[f];
      }
      put_ghosts<kSide, kK + 1>(lane, inner, q, row_number, row);
    }
  }

  /// Puts what the conditions along y say beyond the strip's boundary, into a row of all fields.
  template <int kSide>
  static WARPLOOM_DEVICE void ghosts_y(const Block& block, const Scalars<T, Scheme::kParameters>& q, int row_number, Row& row) {
    T values[kFields][Scheme::kInnerY];
    WARPLOOM_UNROLL
    for (int f = 0; f < kFields; ++f) {
      WARPLOOM_UNROLL
      for (int m = 0; m < Scheme::kInnerY; ++m) {
        values[f][m] = device::shuffle(block, row[f][kRy + (kSide == 0 ? m : kP - 1 - m)], kSide == 0 ? kHalo : 31 - kHalo);
      }
    }
    const InnerColumns inner{values};
    put_ghosts<kSide, 1>(block.lane(), inner, q, row_number, row);
  }

  /// Makes a row ready to be read beside a lane's columns.
  template <int kStage, int kDx>
  static WARPLOOM_DEVICE void prepare(const Block& block, const Task& task, const Scalars<T, Scheme::kParameters>& q, int row_number,
    Row& row) {
    if constexpr (!Scheme::kPeriodicY) {
      if (task.at_left) ghosts_y<0>(block, q, row_number, row);
      if (task.at_right) ghosts_y<1>(block, q, row_number, row);
    }
    WARPLOOM_UNROLL
    for (int c = 0; c < kComponents; ++c) {
      if (Scheme::beside(kStage, c, kDx)) exchange(block, row[c]);
    }
  }

  /// Rows beyond the first one, for the stage that computes row kRow: cell kK and those behind it.
  template <int kPhase, int kRow, int kK>
  static WARPLOOM_DEVICE void rows_above(const Task& task, const Scalars<T, Scheme::kParameters>& q, int lane, Window& window) {
    if constexpr (kK + kRow <= kRx) {
      WARPLOOM_UNROLL
      for (int e = 0; e < kP; ++e) {
        T made[kFields];
        const InnerRows<kPhase, -kRow, 1> inner{window, e};
        Scheme::template ghost_x<0, kK>(inner, q, centre_y(task, lane, e), made);
        WARPLOOM_UNROLL
        for (int f = 0; f < kFields; ++f) window[slot(kPhase, -kK - kRow)][f][kRy + e] = made[f];
      }
      rows_above<kPhase, kRow, kK + 1>(task, q, lane, window);
    }
  }
  template <int kPhase, int kRow>
  static WARPLOOM_DEVICE void rows_above_of(int row, const Task& task, const Scalars<T, Scheme::kParameters>& q, int lane, Window& window) {
    if constexpr (kRow < kRx) {
      if (row == kRow) rows_above<kPhase, kRow, 1>(task, q, lane, window);
      rows_above_of<kPhase, kRow + 1>(row, task, q, lane, window);
    }
  }

  /// The newest row of a window, which is cell kK (`beyond`) behind the last row.
  template <int kPhase, int kK>
  static WARPLOOM_DEVICE void row_below(int beyond, const Task& task, const Scalars<T, Scheme::kParameters>& q, int lane, Window& window) {
    if constexpr (kK <= kRx) {
      if (beyond == kK) {
        WARPLOOM_UNROLL
        for (int e = 0; e < kP; ++e) {
          T made[kFields];
          const InnerRows<kPhase, kRx - kK, -1> inner{window, e};
          Scheme::template ghost_x<1, kK>(inner, q, centre_y(task, lane, e), made);
          WARPLOOM_UNROLL
          for (int f = 0; f < kFields; ++f) window[slot(kPhase, kRx)][f][kRy + e] = made[f];
        }
      }
      row_below<kPhase, kK + 1>(beyond, task, q, lane, window);
    }
  }

  static WARPLOOM_DEVICE T centre_y(const Task& task, int lane, int e) {
    return Scheme::centre_y(Scheme::kPeriodicY ? task.columns[e] : task.base + lane * kP + e);
  }

  template <int kStage, int kPhase, int kDx>
  static WARPLOOM_DEVICE void prepare_above(const Block& block, const Parameters& p, const Task& task, const Scalars<T,
    Scheme::kParameters>& q, int row, Window& window) {
    if constexpr (kDx <= kRx) {
      if constexpr (Scheme::any_beside(kStage, kDx)) prepare<kStage, kDx>(block, task, q, numbered(p, row + kDx), window[slot(kPhase,
        kDx)]);
      prepare_above<kStage, kPhase, kDx + 1>(block, p, task, q, row, window);
    }
  }

  /// One row of one level: level kLevel from the rows of the level before it. kSteady: it is inside, and neither the first nor the last.
  template <int kLevel, int kPhase, bool kSteady>
  static WARPLOOM_DEVICE void level(const Block& block, const Parameters& p, const Task& task, Scalars<T, Scheme::kParameters>& q, int i,
                                    Window (&windows)[kLevels], int& bad) {
    if constexpr (kLevel >= 1 && kLevel <= kLevels) {
      constexpr int kStage = (kLevel - 1) % kStages, kStep = (kLevel - 1) / kStages, kMargin = (kLevels - kLevel) * kRx;
      constexpr bool kChecks = kStage == kStages - 1 && (Scheme::kChecksAll || kLevel == kLevels);
      const int row = i - kLevel * kRx - (kLevel - 1) * kLag;
      int first = task.first - kMargin, end = task.end + kMargin;
      if (!Scheme::kPeriodicX) {
        first = first < 0 ? 0 : first;
        end = end > p.n0 ? p.n0 : end;
      }
      q.t = p.t[kLevel - 1];
      q.h = p.h[kStage];
      q.g = p.g[kStage];
      Window& window = windows[kLevel - 1];
      if (kSteady || (row >= first && row < end)) {
        if constexpr (!kSteady && !Scheme::kPeriodicX) {
          if (row + kRx >= p.n0) row_below<kPhase, 1>(row + kRx - p.n0 + 1, task, q, block.lane(), window);
          if (row == first && row < kRx) rows_above_of<kPhase, 0>(row, task, q, block.lane(), window);
        }
        // The first row needs all rows around it, later ones the newest only.
        if (!kSteady && row == first) prepare_above<kStage, kPhase, -kRx>(block, p, task, q, row, window);
        else if constexpr (Scheme::newest(kStage) != kNone) {
          constexpr int kDx = Scheme::newest(kStage);
          prepare<kStage, kDx>(block, task, q, numbered(p, row + kDx), window[slot(kPhase, kDx)]);
        }
        T made[kFields][kP];
        bool good = true;
        WARPLOOM_UNROLL
        for (int e = 0; e < kP; ++e) {
          T out[kComponents] = {};
          const Reader<kPhase> reader{window, p, task, row, e};
          Scheme::template stage<kStage>(reader, q, Scheme::centre_x(numbered(p, row)), centre_y(task, block.lane(), e), out);
          if constexpr (kLevel < kLevels) {
            WARPLOOM_UNROLL
            for (int c = 0; c < kComponents; ++c) windows[kLevel][(kPhase + kLag) % kRows][c][kRy + e] = out[c];
          } else {
            WARPLOOM_UNROLL
            for (int f = 0; f < kFields; ++f) made[f][e] = out[f];
          }
          if constexpr (kChecks) {
            T fields[kFields];
            WARPLOOM_UNROLL
            for (int f = 0; f < kFields; ++f) fields[f] = out[f];
            good = good & (Scheme::check(fields, q) != 0);
          }
        }
        if constexpr (kLevel == kLevels) Base::store(p, task, row, made);
        if constexpr (kChecks) {
          constexpr int kBad = Scheme::kChecksAll ? kStep : 0;
          if (!good && task.mine && row >= task.first && row < task.end && p.step + kBad < bad) bad = p.step + kBad;
        }
      }
      level<kLevel - 1, kPhase, kSteady>(block, p, task, q, i, windows, bad);
    }
  }

  template <int kPhase, bool kSteady>
  static WARPLOOM_DEVICE void phases(const Block& block, const Parameters& p, const Task& task, Scalars<T, Scheme::kParameters>& q, int i,
    int last,
                                     Window (&windows)[kLevels], int& bad) {
    if constexpr (kPhase < kRows) {
      if (kSteady || i + kPhase <= last + (kLevels - 1) * kLag) {
        if (kSteady || i + kPhase <= last) Base::take(block, p, task, i + kPhase, last, windows[0][kPhase]);
        level<kLevels, kPhase, kSteady>(block, p, task, q, i + kPhase, windows, bad);
      }
      phases<kPhase + 1, kSteady>(block, p, task, q, i, last, windows, bad);
    }
  }

  static WARPLOOM_DEVICE void run(const Block& block, const Parameters& p) {
    const int number = static_cast<int>(block.index());
    const int each = p.strips * p.chunks, member = number / each, rest = number - member * each;
    const Task task = Base::task_of(block, p, rest % p.strips, rest / p.strips, member);
    Scalars<T, Scheme::kParameters> q;
    q.dt = p.dt;
    q.n0 = p.n0;
    q.n1 = p.n1;
    WARPLOOM_UNROLL
    for (int i = 0; i < Scheme::kParameters; ++i) q.p[i] = p.p[static_cast<int64_t>(member) * Scheme::kParameters + i];
    Window windows[kLevels] = {};
    int bad = kNever;
    const int begin = task.first - kLevels * kRx, last = task.end - 1 + kLevels * kRx;
    WARPLOOM_UNROLL
    for (int i = 0; i < kRing - 1; ++i) Base::request(block, p, task, begin + i, last);
    WARPLOOM_NO_UNROLL
    for (int i = begin; i <= last + (kLevels - 1) * kLag; i += kRows) {
      // All levels work, and no row is beyond a boundary.
      const int whole = Scheme::kPeriodicX || last < p.n0 ? last : p.n0;
      const bool steady = i > begin + 2 * kLevels * kRx + (kLevels - 1) * kLag && i + kRows <= whole;
      if (steady) phases<0, true>(block, p, task, q, i, last, windows, bad);
      else phases<0, false>(block, p, task, q, i, last, windows, bad);
    }
    if (bad != kNever) device::atomic_min(p.status, bad);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::stencil
