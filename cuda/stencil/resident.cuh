// Grids that fit on the device: every block keeps a tile of rows and columns in registers for all steps of a launch. Tiles overlap; when
// the steps of a round have used up the overlap, blocks send each other their outermost cells, as messages: only neighbours wait for each
// other. All blocks must run at once (a cooperative launch).
//
// The scheme is printed for three axes (lib/stencil/compile/resident.ts), as for planes.cuh; the first has one cell. kDepth: steps of a
// round.
#pragma once
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
  int32_t members, strips, bands, steps;
  int32_t step;  ///< the number of the first one
  int32_t tag;   ///< of the first round's messages; those of later rounds follow. No two launches of a run share one.
};

template <class Scheme>
struct ResidentAgent : PlanesTile<Scheme, ResidentParameters<typename Scheme::Real, Scheme::kStages>> {
  using Parameters = ResidentParameters<typename Scheme::Real, Scheme::kStages>;
  using Tile = PlanesTile<Scheme, Parameters>;
  using typename Tile::T, typename Tile::Task, typename Tile::Plane, typename Tile::Here;
  using Tile::kFields, Tile::kComponents, Tile::kStages, Tile::kDepth, Tile::kP, Tile::kQ, Tile::kRy, Tile::kRz, Tile::kEdges,
    Tile::kMarginY, Tile::kMarginZ, Tile::kNever;
  static constexpr int kWords = sizeof(T) / 4;

  /// What a thread knows about the exchange of its cells, as bits: cells that others need, and cells that it needs.
  struct Exchange {
    unsigned int given = 0, needed = 0;
    int64_t first;  ///< a cell whose message always comes: for lanes that need none
  };
  static_assert(kP * kQ <= 32, "a bit for each cell of a thread");

  static WARPLOOM_DEVICE int64_t cell_of(const Here& here, int r, int e) {
    return static_cast<int64_t>(here.task.rows[r]) * here.p.n2 + here.task.columns[e];
  }

  static WARPLOOM_DEVICE Exchange exchange_of(const Here& here) {
    const Task& task = here.task;
    Exchange made;
    WARPLOOM_UNROLL
    for (int r = 0; r < kQ; ++r) {
      WARPLOOM_UNROLL
      for (int e = 0; e < kP; ++e) {
        const int row = task.base_row + here.block.warp() * kQ + r, column = task.base + here.block.lane() * kP + e;
        const bool owned = task.owned_row[r] && task.owned[e];
        const bool inner = row >= task.low_row + kMarginY && row < task.high_row - kMarginY && column >= task.low + kMarginZ
                           && column < task.high - kMarginZ;
        const bool near = row >= task.low_row - kMarginY && row < task.high_row + kMarginY && column >= task.low - kMarginZ
                          && column < task.high + kMarginZ;
        made.given |= static_cast<unsigned int>(owned && !inner) << (r * kP + e);
        made.needed |= static_cast<unsigned int>(near && !owned) << (r * kP + e);
      }
    }
    made.first = static_cast<int64_t>(task.low_row) * here.p.n2 + task.low;
    return made;
  }

  static WARPLOOM_DEVICE device::Message message_of(const T& value, unsigned int tag) {
    unsigned int words[kWords];
    memcpy(words, &value, sizeof(T));
    return {{words[0], kWords > 1 ? words[kWords - 1] : 0u, 0u}, tag};
  }
  static WARPLOOM_DEVICE T value_of(const device::Message& message) {
    unsigned int words[kWords];
    WARPLOOM_UNROLL
    for (int i = 0; i < kWords; ++i) words[i] = message.word[i];
    T value;
    memcpy(&value, words, sizeof(T));
    return value;
  }

  /// Renews the cells of a tile that other blocks own. Two boxes in turn are enough: a block sends round r + 2 after a barrier that its
  /// threads reach with all messages of round r + 1, which its neighbours sent after they had received all of round r.
  static WARPLOOM_DEVICE void exchange(const Here& here, const Exchange& what, int member, unsigned int tag, Plane& plane) {
    const Parameters& p = here.p;
    device::Message* const box = p.boxes + (static_cast<int64_t>(tag & 1u) * p.members + member) * kFields * here.task.cells;
    WARPLOOM_UNROLL
    for (int f = 0; f < kFields; ++f) {
      WARPLOOM_UNROLL
      for (int r = 0; r < kQ; ++r) {
        WARPLOOM_UNROLL
        for (int e = 0; e < kP; ++e) {
          if ((what.given >> (r * kP + e) & 1u) == 0) continue;
          device::post(here.block, box + f * here.task.cells + cell_of(here, r, e), message_of(plane.at[f][kRy + r][kRz + e], tag));
        }
      }
    }
    WARPLOOM_UNROLL
    for (int f = 0; f < kFields; ++f) {
      device::Message messages[kQ * kP];
      device::receive_at_once(here.block, tag, [&](int i) {
        const bool needed = (what.needed >> i & 1u) != 0;
        return box + f * here.task.cells + (needed ? cell_of(here, i / kP, i % kP) : what.first);
      }, messages);
      WARPLOOM_UNROLL
      for (int i = 0; i < kQ * kP; ++i) {
        T& cell = plane.at[f][kRy + i / kP][kRz + i % kP];
        cell = (what.needed >> i & 1u) != 0 ? value_of(messages[i]) : cell;
      }
    }
  }

  /// The stages of a step from kStage on.
  template <int kStage>
  static WARPLOOM_DEVICE void stages(const Here& here, double t, unsigned int& turn, Plane& plane) {
    if constexpr (kStage < kStages) {
      here.q.t = static_cast<T>(t + here.p.time[kStage]);
      here.q.h = here.p.h[kStage];
      here.q.g = here.p.g[kStage];
      if constexpr (Scheme::newest(kStage) != kNone) {
        // Two regions in turn, so that one barrier per stage is enough.
        T* const region = here.block.template shared<T>() + (turn & 1u) * kEdges;
        ++turn;
        Tile::template publish<kStage>(here.block, region, plane);
        here.block.sync();
        Tile::template prepare<kStage>(here, 0, region, plane);
      }
      T next[kComponents][kQ][kP];
      const Plane(&window)[1] = reinterpret_cast<const Plane(&)[1]>(plane);
      WARPLOOM_UNROLL
      for (int r = 0; r < kQ; ++r) {
        WARPLOOM_UNROLL
        for (int e = 0; e < kP; ++e) {
          T out[kComponents] = {};
          const typename Tile::template Reader<0> reader{window, here, 0, r, e};
          Scheme::template stage<kStage>(reader, here.q, here.centre_x(0), here.centre_y(r), here.centre_z(e), out);
          WARPLOOM_UNROLL
          for (int c = 0; c < kComponents; ++c) next[c][r][e] = out[c];
        }
      }
      WARPLOOM_UNROLL
      for (int c = 0; c < kComponents; ++c) {
        WARPLOOM_UNROLL
        for (int r = 0; r < kQ; ++r) {
          WARPLOOM_UNROLL
          for (int e = 0; e < kP; ++e) plane.at[c][kRy + r][kRz + e] = next[c][r][e];
        }
      }
      stages<kStage + 1>(here, t, turn, plane);
    }
  }

  static WARPLOOM_DEVICE bool all_good(const Here& here, const Plane& plane) {
    bool good = true;
    WARPLOOM_UNROLL
    for (int r = 0; r < kQ; ++r) {
      WARPLOOM_UNROLL
      for (int e = 0; e < kP; ++e) {
        T fields[kFields];
        WARPLOOM_UNROLL
        for (int f = 0; f < kFields; ++f) fields[f] = plane.at[f][kRy + r][kRz + e];
        good = good & (!(here.task.owned_row[r] && here.task.owned[e]) | (Scheme::check(fields, here.q) != 0));
      }
    }
    return good;
  }

  static WARPLOOM_DEVICE void load(const Here& here, Plane& plane) {
    WARPLOOM_UNROLL
    for (int f = 0; f < kFields; ++f) {
      WARPLOOM_UNROLL
      for (int r = 0; r < kQ; ++r) {
        WARPLOOM_UNROLL
        for (int e = 0; e < kP; ++e) plane.at[f][kRy + r][kRz + e] = here.task.y[f * here.task.cells + cell_of(here, r, e)];
      }
    }
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int tiles = p.strips * p.bands, member = static_cast<int>(block.index()) / tiles;
    const int tile = static_cast<int>(block.index()) - member * tiles;
    const Task task = Tile::task_of(block, p, tile % p.strips, tile / p.strips, member);
    typename Tile::Q q;
    q.dt = p.dt;
    q.n0 = p.n0;
    q.n1 = p.n1;
    q.n2 = p.n2;
    WARPLOOM_UNROLL
    for (int i = 0; i < Scheme::kParameters; ++i) q.p[i] = p.p[static_cast<int64_t>(member) * Scheme::kParameters + i];
    const Here here{block, p, task, q};
    const Exchange what = exchange_of(here);
    Plane plane = {};
    load(here, plane);
    int bad = kNever;
    unsigned int turn = 0, tag = static_cast<unsigned int>(p.tag);
    WARPLOOM_NO_UNROLL
    for (int done = 0; done < p.steps;) {
      const int count = p.steps - done < kDepth ? p.steps - done : kDepth, before = done;
      WARPLOOM_NO_UNROLL
      for (const int end = done + count; done < end; ++done) {
        stages<0>(here, p.origin + static_cast<double>(p.from + done) * p.unit, turn, plane);
        if constexpr (Scheme::kChecksAll) {
          if (bad == kNever && !all_good(here, plane)) bad = p.step + done;
        }
      }
      if (!Scheme::kChecksAll && bad == kNever && !all_good(here, plane)) bad = p.step + before;
      if (done < p.steps) exchange(here, what, member, tag++, plane);
    }
    T made[kFields][kQ][kP];
    WARPLOOM_UNROLL
    for (int f = 0; f < kFields; ++f) {
      WARPLOOM_UNROLL
      for (int r = 0; r < kQ; ++r) {
        WARPLOOM_UNROLL
        for (int e = 0; e < kP; ++e) made[f][r][e] = plane.at[f][kRy + r][kRz + e];
      }
    }
    Tile::store(here, 0, made);
    if (bad != kNever) device::atomic_min(p.status, bad);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::stencil
