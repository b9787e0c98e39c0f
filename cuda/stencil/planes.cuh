// Several time steps per pass over memory, in three dimensions. A block owns a tile of rows (y) and columns (z) and moves through planes
// (x); the last planes of every level (stage of a step) stay in registers. Cells near the edges of a tile and of a chunk of planes are
// computed by several blocks: that is the price for blocks that never wait for each other.
#pragma once
#include "cuda/stencil/planes_tile.cuh"

namespace warploom::WARPLOOM_TARGET::stencil {

template <class Scheme>
struct PlanesAgent : PlanesTile<Scheme> {
  using Tile = PlanesTile<Scheme>;
  using typename Tile::T;
  using typename Tile::Task;
  using typename Tile::Plane;
  using typename Tile::Here;
  using typename Tile::Windows;
  using Parameters = typename Tile::Parameters;
  using Tile::kFields, Tile::kComponents, Tile::kStages, Tile::kDepth, Tile::kLevels, Tile::kP, Tile::kQ, Tile::kRx, Tile::kRy, Tile::kRz,
    Tile::kSlots, Tile::kRing, Tile::kPlane, Tile::kEdges, Tile::kNever;
  using Tile::slot;

  /// Where a level's plane is told to the other warps. Planes of two iterations in turn: then one barrier per iteration is enough.
  static WARPLOOM_DEVICE T* region(const device::Block& block, int turn, int level) {
    return block.shared<T>() + kRing * kPlane + (turn * kLevels + level - 1) * kEdges;
  }
  static WARPLOOM_DEVICE T* spare(const device::Block& block) { return block.shared<T>() + kRing * kPlane + 2 * kLevels * kEdges; }

  /// The plane that a level takes in an iteration. The last level takes its plane first and the first one last, so that in an iteration all
  /// of them read what earlier ones have made, and none waits for another.
  static constexpr WARPLOOM_DEVICE int plane_of(int i, int level) { return i - level * kRx - (level - 1); }
  static constexpr WARPLOOM_DEVICE int stage_of(int level) { return (level - 1) % kStages; }

  /// The planes that a level makes.
  static WARPLOOM_DEVICE void range(const Here& here, int level, int& first, int& end) {
    const int margin = (kLevels - level) * kRx;
    first = here.task.first - margin;
    end = here.task.end + margin;
    if (!Scheme::kPeriodicX) {
      first = first < 0 ? 0 : first;
      end = end > here.p.n0 ? here.p.n0 : end;
    }
  }
  static WARPLOOM_DEVICE void set_scalars(const Here& here, int level) {
    here.q.t = here.p.t[level - 1];
    here.q.h = here.p.h[stage_of(level)];
    here.q.g = here.p.g[stage_of(level)];
  }

  /// Planes beyond the first one, for the level that computes plane kRow: cell kK and those behind it.
  template <int kPhase, int kRow, int kK>
  static WARPLOOM_DEVICE void planes_above(const Here& here, Plane (&window)[kSlots]) {
    if constexpr (kK + kRow <= kRx) {
      ghost_plane<kPhase, 0, kK, -kRow, -kK - kRow>(here, window);
      planes_above<kPhase, kRow, kK + 1>(here, window);
    }
  }
  template <int kPhase, int kRow>
  static WARPLOOM_DEVICE void planes_above_of(const Here& here, int plane, Plane (&window)[kSlots]) {
    if constexpr (kRow < kRx) {
      if (plane == kRow) planes_above<kPhase, kRow, 1>(here, window);
      planes_above_of<kPhase, kRow + 1>(here, plane, window);
    }
  }
  /// The newest plane of a window, which is cell kK (`beyond`) behind the last plane.
  template <int kPhase, int kK>
  static WARPLOOM_DEVICE void plane_below(const Here& here, int beyond, Plane (&window)[kSlots]) {
    if constexpr (kK <= kRx) {
      if (beyond == kK) ghost_plane<kPhase, 1, kK, kRx - kK, kRx>(here, window);
      plane_below<kPhase, kK + 1>(here, beyond, window);
    }
  }
  template <int kPhase, int kSide, int kK, int kNearest, int kTo>
  static WARPLOOM_DEVICE void ghost_plane(const Here& here, Plane (&window)[kSlots]) {
    WARPLOOM_UNROLL
    for (int r = 0; r < kQ; ++r) {
      WARPLOOM_UNROLL
      for (int e = 0; e < kP; ++e) {
        T made[kFields];
        const typename Tile::template InnerPlanes<kPhase, kNearest, (kSide == 0 ? 1 : -1)> inner{window, r, e};
        Scheme::template ghost_x<kSide, kK>(inner, here.q, here.centre_y(r), here.centre_z(e), made);
        WARPLOOM_UNROLL
        for (int f = 0; f < kFields; ++f) window[slot(kPhase, kTo)].at[f][kRy + r][kRz + e] = made[f];
      }
    }
  }
  /// Planes above the first one were not there when it was their turn to be prepared.
  template <int kStage, int kPhase, int kDx>
  static WARPLOOM_DEVICE void prepare_above(const Here& here, int plane, Plane (&window)[kSlots]) {
    if constexpr (kDx < 0) {
      if (plane + kDx < 0) {
        Plane& above = window[slot(kPhase, kDx)];
        Tile::template publish<kStage>(here.block, spare(here.block), above);
        here.block.sync();
        Tile::template prepare<kStage>(here, plane + kDx, spare(here.block), above);
        here.block.sync();
      }
      prepare_above<kStage, kPhase, kDx + 1>(here, plane, window);
    }
  }

  /// Before the barrier: every level's newest plane that is read beside cells.
  template <int kLevel, int kPhase, bool kSteady>
  static WARPLOOM_DEVICE void tell(const Here& here, int i, Windows& windows) {
    if constexpr (kLevel >= 1) {
      constexpr int kStage = stage_of(kLevel);
      Plane(&window)[kSlots] = windows[kLevel - 1];
      set_scalars(here, kLevel);
      if constexpr (!kSteady && !Scheme::kPeriodicX) {
        const int plane = plane_of(i, kLevel);
        int first, end;
        range(here, kLevel, first, end);
        if (plane >= first && plane < end) {
          if (plane + kRx >= here.p.n0) plane_below<kPhase, 1>(here, plane + kRx - here.p.n0 + 1, window);
          if (plane == first && plane < kRx) planes_above_of<kPhase, 0>(here, plane, window);
        }
      }
      if constexpr (Scheme::newest(kStage) != kNone) {
        Tile::template publish<kStage>(here.block, region(here.block, i & 1, kLevel), window[slot(kPhase, Scheme::newest(kStage))]);
      }
      tell<kLevel - 1, kPhase, kSteady>(here, i, windows);
    }
  }

  /// One plane of every level from the planes of the level before it. kSteady: it is inside, and neither the first nor the last.
  template <int kLevel, int kPhase, bool kSteady>
  static WARPLOOM_DEVICE void advance(const Here& here, int i, Windows& windows, int& bad) {
    if constexpr (kLevel >= 1) {
      constexpr int kStage = stage_of(kLevel);
      const int plane = plane_of(i, kLevel);
      Plane(&window)[kSlots] = windows[kLevel - 1];
      int first, end;
      range(here, kLevel, first, end);
      set_scalars(here, kLevel);
      if constexpr (Scheme::newest(kStage) != kNone) {
        constexpr int kDx = Scheme::newest(kStage);
        if constexpr (!kSteady && !Scheme::kPeriodicX && kRx > 0) {
          if (plane == first && plane < kRx) prepare_above<kStage, kPhase, -kRx>(here, plane, window);
        }
        Tile::template prepare<kStage>(here, plane + kDx, region(here.block, i & 1, kLevel), window[slot(kPhase, kDx)]);
      }
      if (kSteady || (plane >= first && plane < end)) compute<kLevel, kPhase>(here, plane, windows, bad);
      advance<kLevel - 1, kPhase, kSteady>(here, i, windows, bad);
    }
  }

  template <int kLevel, int kPhase>
  static WARPLOOM_DEVICE void compute(const Here& here, int plane, Windows& windows, int& bad) {
    constexpr int kStage = stage_of(kLevel), kStep = (kLevel - 1) / kStages;
    constexpr bool kChecks = kStage == kStages - 1 && (Scheme::kChecksAll || kLevel == kLevels);
    const T x = here.centre_x(plane);
    bool good = true;
    T made[kFields][kQ][kP];
    WARPLOOM_UNROLL
    for (int r = 0; r < kQ; ++r) {
      WARPLOOM_UNROLL
      for (int e = 0; e < kP; ++e) {
        T out[kComponents] = {};
        const typename Tile::template Reader<kPhase> reader{windows[kLevel - 1], here, plane, r, e};
        Scheme::template stage<kStage>(reader, here.q, x, here.centre_y(r), here.centre_z(e), out);
        if constexpr (kLevel < kLevels) {
          WARPLOOM_UNROLL
          for (int c = 0; c < kComponents; ++c) windows[kLevel][(kPhase + 1) % kSlots].at[c][kRy + r][kRz + e] = out[c];
        }
        T fields[kFields];
        WARPLOOM_UNROLL
        for (int f = 0; f < kFields; ++f) made[f][r][e] = fields[f] = out[f];
        if constexpr (kChecks) good = good & (!here.task.owned_row[r] | (Scheme::check(fields, here.q) != 0));
      }
    }
    if constexpr (kLevel == kLevels) Tile::store(here, plane, made);
    if constexpr (kChecks) {
      constexpr int kBad = Scheme::kChecksAll ? kStep : 0;
      const bool counts = here.task.mine && plane >= here.task.first && plane < here.task.end;
      if (!good && counts && here.p.step + kBad < bad) bad = here.p.step + kBad;
    }
  }

  template <int kPhase, bool kSteady>
  static WARPLOOM_DEVICE void phases(const Here& here, int i, int last, Windows& windows, int& bad) {
    if constexpr (kPhase < kSlots) {
      if (kSteady || i + kPhase <= last + kLevels - 1) {
        if (kSteady || i + kPhase <= last) Tile::take(here, i + kPhase, last, windows[0][kPhase]);
        tell<kLevels, kPhase, kSteady>(here, i + kPhase, windows);
        here.block.sync();
        advance<kLevels, kPhase, kSteady>(here, i + kPhase, windows, bad);
      }
      phases<kPhase + 1, kSteady>(here, i, last, windows, bad);
    }
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int number = static_cast<int>(block.index());
    const int tiles = p.strips * p.bands, each = tiles * p.chunks, member = number / each, rest = number - member * each;
    const int chunk = rest / tiles, tile = rest - chunk * tiles;
    Task task = Tile::task_of(block, p, tile % p.strips, tile / p.strips, member);
    task.first = chunk * p.planes_per_chunk;
    task.end = task.first + p.planes_per_chunk < p.n0 ? task.first + p.planes_per_chunk : p.n0;
    typename Tile::Q q;
    q.dt = p.dt;
    q.n0 = p.n0;
    q.n1 = p.n1;
    q.n2 = p.n2;
    WARPLOOM_UNROLL
    for (int i = 0; i < Scheme::kParameters; ++i) q.p[i] = p.p[static_cast<int64_t>(member) * Scheme::kParameters + i];
    const Here here{block, p, task, q};
    Windows windows = {};
    int bad = kNever;
    const int begin = task.first - kLevels * kRx, last = task.end - 1 + kLevels * kRx;
    WARPLOOM_UNROLL
    for (int i = 0; i < kRing - 1; ++i) Tile::request(here, begin + i, last);
    WARPLOOM_NO_UNROLL
    for (int i = begin; i <= last + kLevels - 1; i += kSlots) {
      // All levels work, and no plane is beyond a boundary.
      const bool steady = i > begin + 2 * kLevels * kRx + kLevels - 1 && i + kSlots <= (Scheme::kPeriodicX || last < p.n0 ? last : p.n0);
      if (steady) phases<0, true>(here, i, last, windows, bad);
      else phases<0, false>(here, i, last, windows, bad);
    }
    if (bad != kNever) device::atomic_min(p.status, bad);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::stencil
