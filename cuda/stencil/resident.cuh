// Grids that fit on the device: every block keeps a tile of planes, rows and columns in registers for all steps of a launch. Tiles overlap;
// when the steps of a round have used up the overlap, blocks send each other their outermost cells, as messages: only neighbours wait for
// each other. All blocks must run at once (a cooperative launch).
//
// The scheme is printed for three axes (lib/stencil/compile/resident.ts), as for planes.cuh, with kPlanes: planes of a thread; in one and
// two dimensions the first axis has one cell. kDepth: steps of a round.
#pragma once
#include "cuda/stencil/message.cuh"
#include "cuda/stencil/planes_tile.cuh"

namespace warploom::WARPLOOM_TARGET::stencil {

template <class T, int kStages>
struct ResidentParameters {
  const T* y;
  T* o;
  const T* c;   ///< coefficients, the same for all members
  const T* p;   ///< parameters: [member][parameter]
  int* status;  ///< the least number of a step that was bad
  device::Message* boxes;  ///< [2][member][field][cell]
  T dt, h[kStages], g[kStages];
  /// Step i begins at origin + (from + i) * unit; stages of it begin `time` later.
  double origin, unit, time[kStages];
  int64_t from;
  int32_t n0, n1, n2;
  int32_t members, strips, bands, slabs, steps;
  int32_t step;  ///< the number of the first one
  int32_t tag;   ///< of the first round's messages; those of later rounds follow. No two launches of a run share one.
};

template <class Scheme>
struct ResidentAgent : PlanesTile<Scheme, ResidentParameters<typename Scheme::Real, Scheme::kStages>> {
  using Parameters = ResidentParameters<typename Scheme::Real, Scheme::kStages>;
  using Tile = PlanesTile<Scheme, Parameters>;
  using typename Tile::T, typename Tile::Task, typename Tile::Plane, typename Tile::Here;
  using Tile::kFields, Tile::kComponents, Tile::kStages, Tile::kDepth, Tile::kLevels, Tile::kP, Tile::kQ, Tile::kRx, Tile::kRy, Tile::kRz,
    Tile::kEdges, Tile::kMarginY, Tile::kMarginZ, Tile::kNever;
  static constexpr int kPlanes = Scheme::kPlanes, kMarginX = kLevels * kRx, kCells = kPlanes * kQ * kP;
  /// The cells of a thread, with planes beside them.
  struct State {
    Plane plane[kPlanes + 2 * kRx];
    WARPLOOM_DEVICE T& cell(int f, int i) { return plane[kRx + i / (kQ * kP)].at[f][kRy + i / kP % kQ][kRz + i % kP]; }
  };
  /// The planes of a block.
  struct Slab {
    int base, low, high;  ///< the first one; those that it owns
    bool at_first, at_last;  ///< it ends at a boundary that is not periodic
    unsigned int first_of[kPlanes];  ///< the first cell of each plane in memory
  };

  /// What a thread knows about the exchange of its cells, as bits: cells that others need, and cells that it needs.
  struct Exchange {
    unsigned int given = 0, needed = 0;
  };
  static_assert(kCells <= 32, "a bit for each cell of a thread");

  /// Where cell i of a thread is in memory.
  static WARPLOOM_DEVICE unsigned int cell_of(const Here& here, const Slab& slab, int i) {
    const Task& task = here.task;
    const int beside = i % kP == 0 ? 0 : task.columns[i % kP] - task.columns[0];
    return slab.first_of[i / (kQ * kP)] + task.first_of[i / kP % kQ] + static_cast<unsigned int>(beside);
  }
  static WARPLOOM_DEVICE bool owns(const Here& here, const Slab& slab, int i) {
    const int plane = slab.base + i / (kQ * kP);
    return plane >= slab.low && plane < slab.high && here.task.owned_row[i / kP % kQ] && here.task.owned[i % kP];
  }

  static WARPLOOM_DEVICE Exchange exchange_of(const Here& here, const Slab& slab) {
    const Task& task = here.task;
    Exchange made;
    // Whether a cell is in the tile, made smaller or larger.
    const auto within = [&](int i, int by) {
      const int plane = slab.base + i / (kQ * kP), row = task.base_row + here.block.warp() * kQ + i / kP % kQ;
      const int column = task.base + here.block.lane() * kP + i % kP;
      return plane >= slab.low - by * kMarginX && plane < slab.high + by * kMarginX && row >= task.low_row - by * kMarginY
             && row < task.high_row + by * kMarginY && column >= task.low - by * kMarginZ && column < task.high + by * kMarginZ;
    };
    WARPLOOM_UNROLL
    for (int i = 0; i < kCells; ++i) {
      const bool owned = owns(here, slab, i);
      made.given |= static_cast<unsigned int>(owned && !within(i, -1)) << i;
      made.needed |= static_cast<unsigned int>(within(i, 1) && !owned) << i;
    }
    return made;
  }

  /// Waits for the messages that a thread needs, told by bits, and looks again for those alone that are missing: looking takes as long as
  /// the messages take. All lanes of the warp take part.
  template <class From>
  static WARPLOOM_DEVICE void receive(
      const device::Block& block, unsigned int tag, unsigned int needed, From from, device::Message (&out)[kCells]) {
    WARPLOOM_UNROLL
    for (int i = 0; i < kCells; ++i) out[i] = {};
#ifdef WARPLOOM_SIMT
    for (int i = 0; i < kCells; ++i) {
      device::Message one[1];
      if ((needed >> i & 1u) != 0) device::receive(block, tag, [&](int) { return from(i); }, one);
      if ((needed >> i & 1u) != 0) out[i] = one[0];
    }
#else
    while (__any_sync(~0u, needed != 0)) {
      WARPLOOM_UNROLL
      for (int i = 0; i < kCells; ++i) {
        if ((needed >> i & 1u) != 0) out[i] = device::look(from(i));
      }
      WARPLOOM_UNROLL
      for (int i = 0; i < kCells; ++i) needed &= ~(static_cast<unsigned int>(out[i].tag == tag) << i);
    }
#endif
  }

  /// The box of a round. Two in turn are enough: a block sends round r + 2 after a barrier that its threads reach with all messages of
  /// round r + 1, which its neighbours sent after they had received all of round r.
  static WARPLOOM_DEVICE device::Message* box_of(const Here& here, int member, unsigned int tag) {
    return here.p.boxes + (static_cast<int64_t>(tag & 1u) * here.p.members + member) * kFields * here.task.cells;
  }

  /// Sends the cells that other blocks need.
  static WARPLOOM_DEVICE void send(const Here& here, const Slab& slab, const Exchange& what, int member, unsigned int tag, State& state) {
    device::Message* const box = box_of(here, member, tag);
    WARPLOOM_UNROLL
    for (int f = 0; f < kFields; ++f) {
      WARPLOOM_UNROLL
      for (int i = 0; i < kCells; ++i) {
        if ((what.given >> i & 1u) == 0) continue;
        device::post(here.block, box + f * here.task.cells + cell_of(here, slab, i), message_of(state.cell(f, i), tag));
      }
    }
  }

  /// Renews the cells of a tile that other blocks own.
  static WARPLOOM_DEVICE void renew(const Here& here, const Slab& slab, const Exchange& what, int member, unsigned int tag, State& state) {
    const device::Message* const box = box_of(here, member, tag);
    WARPLOOM_UNROLL
    for (int f = 0; f < kFields; ++f) {
      // Known before the first look: threads may have to look again and again.
      unsigned int from[kCells];
      WARPLOOM_UNROLL
      for (int i = 0; i < kCells; ++i) from[i] = cell_of(here, slab, i);
      const device::Message* const in_field = box + f * here.task.cells;
      device::Message messages[kCells];
      receive(here.block, tag, what.needed, [&](int i) { return in_field + from[i]; }, messages);
      WARPLOOM_UNROLL
      for (int i = 0; i < kCells; ++i) {
        T& cell = state.cell(f, i);
        cell = (what.needed >> i & 1u) != 0 ? value_of<T>(messages[i]) : cell;
      }
    }
  }

  struct Reader {
    const State& state;
    const Here& here;
    int first, plane, row, column;
    template <int kComponent, int kDx, int kDy, int kDz>
    WARPLOOM_DEVICE T get() const { return state.plane[kRx + plane + kDx].at[kComponent][kRy + row + kDy][kRz + column + kDz]; }
    template <int kNumber, int kDx, int kDy, int kDz>
    WARPLOOM_DEVICE T coefficient() const {
      return Tile::template coefficient_at<kNumber, kDx, kDy, kDz>(here, first + plane, row, column);
    }
  };

  /// Planes inside, seen from a boundary.
  template <int kSide>
  struct Inside {
    const State& state;
    int row, column;
    template <int kField, int kDistance>
    WARPLOOM_DEVICE T get() const {
      if constexpr (kDistance >= kPlanes) return T(0);
      else return state.plane[kRx + (kSide == 0 ? kDistance : kPlanes - 1 - kDistance)].at[kField][kRy + row][kRz + column];
    }
  };
  template <int kSide, int kK>
  static WARPLOOM_DEVICE void ghost_planes(const Here& here, State& state) {
    if constexpr (kK <= kRx) {
      WARPLOOM_UNROLL
      for (int r = 0; r < kQ; ++r) {
        WARPLOOM_UNROLL
        for (int e = 0; e < kP; ++e) {
          T made[kFields];
          Scheme::template ghost_x<kSide, kK>(Inside<kSide>{state, r, e}, here.q, here.centre_y(r), here.centre_z(e), made);
          WARPLOOM_UNROLL
          for (int f = 0; f < kFields; ++f) state.plane[kSide == 0 ? kRx - kK : kRx + kPlanes - 1 + kK].at[f][kRy + r][kRz + e] = made[f];
        }
      }
      ghost_planes<kSide, kK + 1>(here, state);
    }
  }

  /// Brings what a stage reads beside the thread's cells.
  template <int kStage>
  static WARPLOOM_DEVICE void bring(const Here& here, const Slab& slab, unsigned int& turn, State& state) {
    if constexpr (!Scheme::kPeriodicX && kRx > 0) {
      if (slab.at_first) ghost_planes<0, 1>(here, state);
      if (slab.at_last) ghost_planes<1, 1>(here, state);
    }
    if constexpr (Scheme::newest(kStage) != kNone) {
      // Planes beyond a boundary have neighbours, too, where cells beside them are read.
      constexpr int kAll = kPlanes + 2 * kRx;
      constexpr int kFrom = Scheme::beside_planes(kStage) && !Scheme::kPeriodicX ? 0 : kRx, kTo = kAll - kFrom;
      // Two regions in turn, so that one barrier per stage is enough.
      T* const region = here.block.template shared<T>() + (turn & 1u) * kAll * kEdges;
      ++turn;
      WARPLOOM_UNROLL
      for (int i = kFrom; i < kTo; ++i) Tile::template publish<kStage>(here.block, region + i * kEdges, state.plane[i]);
      here.block.sync();
      WARPLOOM_UNROLL
      for (int i = kFrom; i < kTo; ++i) Tile::template prepare<kStage>(here, slab.base + i - kRx, region + i * kEdges, state.plane[i]);
    }
  }

  /// The stages of a step from kStage on.
  template <int kStage>
  static WARPLOOM_DEVICE void stages(const Here& here, const Slab& slab, double t, unsigned int& turn, State& state) {
    if constexpr (kStage < kStages) {
      here.q.t = static_cast<T>(t + here.p.time[kStage]);
      here.q.h = here.p.h[kStage];
      here.q.g = here.p.g[kStage];
      bring<kStage>(here, slab, turn, state);
      T next[kComponents][kCells];
      WARPLOOM_UNROLL
      for (int i = 0; i < kCells; ++i) {
        T out[kComponents] = {};
        const int plane = i / (kQ * kP), r = i / kP % kQ, e = i % kP;
        const Reader reader{state, here, slab.base, plane, r, e};
        Scheme::template stage<kStage>(reader, here.q, here.centre_x(slab.base + plane), here.centre_y(r), here.centre_z(e), out);
        WARPLOOM_UNROLL
        for (int c = 0; c < kComponents; ++c) next[c][i] = out[c];
      }
      WARPLOOM_UNROLL
      for (int c = 0; c < kComponents; ++c) {
        WARPLOOM_UNROLL
        for (int i = 0; i < kCells; ++i) state.cell(c, i) = next[c][i];
      }
      stages<kStage + 1>(here, slab, t, turn, state);
    }
  }

  static WARPLOOM_DEVICE bool all_good(const Here& here, const Slab& slab, State& state) {
    bool good = true;
    WARPLOOM_UNROLL
    for (int i = 0; i < kCells; ++i) {
      T fields[kFields];
      WARPLOOM_UNROLL
      for (int f = 0; f < kFields; ++f) fields[f] = state.cell(f, i);
      good = good & (!owns(here, slab, i) | (Scheme::check(fields, here.q) != 0));
    }
    return good;
  }

  static WARPLOOM_DEVICE void load(const Here& here, const Slab& slab, State& state) {
    WARPLOOM_UNROLL
    for (int f = 0; f < kFields; ++f) {
      WARPLOOM_UNROLL
      for (int i = 0; i < kCells; ++i) state.cell(f, i) = here.task.y[f * here.task.cells + cell_of(here, slab, i)];
    }
  }
  static WARPLOOM_DEVICE void store(const Here& here, const Slab& slab, State& state) {
    WARPLOOM_UNROLL
    for (int i = 0; i < kPlanes; ++i) {
      T made[kFields][kQ][kP];
      WARPLOOM_UNROLL
      for (int f = 0; f < kFields; ++f) {
        WARPLOOM_UNROLL
        for (int at = 0; at < kQ * kP; ++at) made[f][at / kP][at % kP] = state.cell(f, i * kQ * kP + at);
      }
      if (slab.base + i >= slab.low && slab.base + i < slab.high) Tile::store(here, slab.base + i, made);
    }
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int layer = p.strips * p.bands, tiles = layer * p.slabs, member = static_cast<int>(block.index()) / tiles;
    const int number = static_cast<int>(block.index()) - member * tiles, tile = number % layer;
    const Task task = Tile::task_of(block, p, tile % p.strips, tile / p.strips, member);
    Slab slab;
    Tile::cut(Scheme::kPeriodicX, p.n0, kPlanes, kMarginX, number / layer, p.slabs, slab.base, slab.low, slab.high);
    WARPLOOM_UNROLL
    for (int i = 0; i < kPlanes; ++i) {
      const int plane = kPlanes == 1 && kRx == 0 ? 0 : inside<Scheme::kPeriodicX>(slab.base + i, p.n0);
      slab.first_of[i] = static_cast<unsigned int>(plane * task.plane);
    }
    slab.at_first = number < layer;
    slab.at_last = number >= tiles - layer;
    typename Tile::Q q;
    q.dt = p.dt;
    q.n0 = p.n0;
    q.n1 = p.n1;
    q.n2 = p.n2;
    WARPLOOM_UNROLL
    for (int i = 0; i < Scheme::kParameters; ++i) q.p[i] = p.p[static_cast<int64_t>(member) * Scheme::kParameters + i];
    const Here here{block, p, task, q};
    const Exchange what = exchange_of(here, slab);
    State state = {};
    load(here, slab, state);
    int bad = kNever;
    unsigned int turn = 0, tag = static_cast<unsigned int>(p.tag);
    WARPLOOM_NO_UNROLL
    for (int done = 0; done < p.steps;) {
      const int count = p.steps - done < kDepth ? p.steps - done : kDepth, before = done;
      WARPLOOM_NO_UNROLL
      for (const int end = done + count; done < end; ++done) {
        stages<0>(here, slab, p.origin + static_cast<double>(p.from + done) * p.unit, turn, state);
        if constexpr (Scheme::kChecksAll) {
          if (bad == kNever && !all_good(here, slab, state)) bad = p.step + done;
        }
      }
      if (done < p.steps) send(here, slab, what, member, tag, state);
      if (!Scheme::kChecksAll && bad == kNever && !all_good(here, slab, state)) bad = p.step + before;
      if (done < p.steps) renew(here, slab, what, member, tag++, state);
    }
    store(here, slab, state);
    if (bad != kNever) device::atomic_min(p.status, bad);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::stencil
