// The tile of a block in three dimensions: rows along y, divided among warps, and columns along z, divided among lanes. Neighbours along z
// come from other lanes by shuffles, those along y from other warps through shared memory.
//
// The scheme is printed (lib/stencil/compile/scheme.ts) as for streaming.cuh, with
//   kPoints, kRows, kWarps: columns and rows of a thread, warps of a block; kReachX, kReachY, kReachZ; kPeriodicX, kPeriodicY, kPeriodicZ
//   newest(stage): the last plane (offset) that the stage reads beside the cell itself; kNone if there is none
//   columns(stage, field, row): the columns that it reads in a row, as bits; both counted from the first cell that a thread's cells reach
#pragma once
#include "cuda/stencil/scheme.cuh"

namespace warploom::WARPLOOM_TARGET::stencil {

template <class T, int kDepth, int kStages>
struct PlanesParameters {
  const T* y;
  T* o;
  const T* c;   ///< coefficients, the same for all members
  const T* p;   ///< parameters: [member][parameter]
  int* status;  ///< the least number of a step that was bad
  T dt;
  T t[kDepth * kStages];  ///< of every stage
  T h[kStages], g[kStages];
  int32_t n0, n1, n2;
  int32_t members, strips, bands, chunks, planes_per_chunk;
  int32_t step;  ///< the number of the first one
};

template <class Scheme, class Given = PlanesParameters<typename Scheme::Real, Scheme::kDepth, Scheme::kStages>>
struct PlanesTile {
  using T = typename Scheme::Real;
  static constexpr int kStages = Scheme::kStages, kDepth = Scheme::kDepth, kLevels = kStages * kDepth;
  using Parameters = Given;
  using Block = device::Block;
  using Q = Scalars<T, Scheme::kParameters>;
  static constexpr int kP = Scheme::kPoints, kQ = Scheme::kRows, kW = Scheme::kWarps;
  static constexpr int kRx = Scheme::kReachX, kRy = Scheme::kReachY, kRz = Scheme::kReachZ, kSlots = 2 * kRx + 1;
  static constexpr int kMaxThreads = 32 * kW, kMinBlocks = Scheme::kMinBlocks;
  static constexpr int kFields = Scheme::kFields, kComponents = Scheme::kComponents;
  static constexpr int kTall = kQ + 2 * kRy, kWide = kP + 2 * kRz;
  static constexpr int kMarginY = kLevels * kRy, kMarginZ = ((kLevels * kRz + kP - 1) / kP) * kP;
  static constexpr int kPack = kP % (16 / sizeof(T)) == 0 ? 16 / sizeof(T) : 1;
  static constexpr unsigned int kOwnColumns = ((1u << kP) - 1u) << kRz;
  /// Planes in shared memory: one that is in use, the others on their way.
  static constexpr int kRing = Scheme::kRing, kPlane = kFields * kQ * kP * 32 * kW;
  /// What the warps of a block tell each other of a plane.
  static constexpr int kEdges = kFields * kW * 2 * kRy * kP * 32;
  static constexpr int kNever = 2147483647;
  struct alignas(kPack * sizeof(T)) Packed {
    T item[kPack];
  };
  struct Plane {
    T at[kComponents][kTall][kWide];
  };
  using Windows = Plane[kLevels][kSlots];

  static constexpr WARPLOOM_DEVICE int slot(int phase, int dx) { return (phase - (kRx - dx) + 2 * kSlots) % kSlots; }

  /// What a block knows about its tile, and a thread about its cells.
  struct Task {
    int base, low, high;         ///< columns: of the first lane's first point; those that the block stores
    int base_row, low_row, high_row;
    int first, end;              ///< planes that it stores
    bool at_low, at_high;        ///< the tile ends at a boundary along y that is not periodic, and this is the warp there
    bool at_left, at_right;      ///< the same along z, for all lanes
    bool whole, mine;            ///< rows are made of vectors; the lane's columns come out right, and it stores some of them
    bool owned[kP], owned_row[kQ];
    int columns[kP], rows[kQ];   ///< where this thread's cells are in memory
    unsigned int first_of[kQ];   ///< the first cell of each row, in its plane
    int64_t own;                 ///< the same of the first row, were there no boundaries
    int64_t cells, plane;        ///< of a field, of a plane of it
    const T* y;
    T* o;
  };

  /// Cuts an axis: the first cell of a tile and the cells that it owns.
  static WARPLOOM_DEVICE void cut(bool periodic, int n, int tile, int margin, int number, int count, int& base, int& low, int& high) {
    const int own = tile - 2 * margin;
    const bool is_last = number == count - 1;
    if (periodic) {
      base = number * own - margin;
      low = number * own;
      high = is_last ? n : low + own;
    } else {
      base = is_last ? n - tile : number * own;
      low = number == 0 ? 0 : number * own + margin;
      high = is_last ? n : (number + 1) * own + margin;
    }
  }

  static WARPLOOM_DEVICE Task task_of(const Block& block, const Parameters& p, int strip, int band, int member) {
    Task task;
    cut(Scheme::kPeriodicZ, p.n2, 32 * kP, kMarginZ, strip, p.strips, task.base, task.low, task.high);
    cut(Scheme::kPeriodicY, p.n1, kQ * kW, kMarginY, band, p.bands, task.base_row, task.low_row, task.high_row);
    task.at_left = !Scheme::kPeriodicZ && strip == 0;
    task.at_right = !Scheme::kPeriodicZ && strip == p.strips - 1;
    task.at_low = !Scheme::kPeriodicY && band == 0 && block.warp() == 0;
    task.at_high = !Scheme::kPeriodicY && band == p.bands - 1 && block.warp() == kW - 1;
    task.first = 0;
    task.end = p.n0;
    const int column = task.base + block.lane() * kP, row = task.base_row + block.warp() * kQ;
    // Tiles begin and end where vectors do, so no vector is cut by a boundary or by what a tile owns.
    task.whole = p.n2 % kPack == 0;
    task.own = static_cast<int64_t>(row) * p.n2 + column;
    task.mine = column < task.high && column + kP > task.low;
    WARPLOOM_UNROLL
    for (int e = 0; e < kP; ++e) {
      task.columns[e] = inside<Scheme::kPeriodicZ>(column + e, p.n2);
      task.owned[e] = column + e >= task.low && column + e < task.high;
    }
    WARPLOOM_UNROLL
    for (int r = 0; r < kQ; ++r) {
      task.rows[r] = inside<Scheme::kPeriodicY>(row + r, p.n1);
      task.first_of[r] = static_cast<unsigned int>(task.rows[r]) * static_cast<unsigned int>(p.n2)
                         + static_cast<unsigned int>(task.columns[0]);
      task.owned_row[r] = row + r >= task.low_row && row + r < task.high_row;
    }
    task.plane = static_cast<int64_t>(p.n1) * p.n2;
    task.cells = p.n0 * task.plane;
    task.y = p.y + member * kFields * task.cells;
    task.o = p.o + member * kFields * task.cells;
    return task;
  }

  /// Everything that is the same for all levels.
  struct Here {
    const Block& block;
    const Parameters& p;
    const Task& task;
    Q& q;
    /// The number of a plane, row or column, for its place.
    WARPLOOM_DEVICE T centre_x(int plane) const { return Scheme::centre_x(Scheme::kPeriodicX ? wrapped(plane, p.n0) : plane); }
    WARPLOOM_DEVICE T centre_y(int r) const {
      const int row = task.base_row + block.warp() * kQ + r;
      return Scheme::centre_y(Scheme::kPeriodicY ? wrapped(row, p.n1) : row);
    }
    WARPLOOM_DEVICE T centre_z(int e) const {
      return Scheme::centre_z(Scheme::kPeriodicZ ? task.columns[e] : task.base + block.lane() * kP + e);
    }
  };

  /// A coefficient beside a cell of this thread.
  template <int kNumber, int kDx, int kDy, int kDz>
  static WARPLOOM_DEVICE T coefficient_at(const Here& here, int plane, int row, int column) {
    const Parameters& p = here.p;
    const int x = inside<Scheme::kPeriodicX>(plane + kDx, p.n0);
    const int y = kDy == 0 ? here.task.rows[row]
                           : inside<Scheme::kPeriodicY>(here.task.base_row + here.block.warp() * kQ + row + kDy, p.n1);
    const int z = kDz == 0 ? here.task.columns[column]
                           : inside<Scheme::kPeriodicZ>(here.task.base + here.block.lane() * kP + column + kDz, p.n2);
    return p.c[kNumber * here.task.cells + (static_cast<int64_t>(x) * p.n1 + y) * p.n2 + z];
  }

  template <int kPhase>
  struct Reader {
    const Plane (&window)[kSlots];
    const Here& here;
    int plane, row, column;
    template <int kComponent, int kDx, int kDy, int kDz>
    WARPLOOM_DEVICE T get() const { return window[slot(kPhase, kDx)].at[kComponent][kRy + row + kDy][kRz + column + kDz]; }
    template <int kNumber, int kDx, int kDy, int kDz>
    WARPLOOM_DEVICE T coefficient() const { return coefficient_at<kNumber, kDx, kDy, kDz>(here, plane, row, column); }
  };

  /// Cells inside, seen from a boundary. kFirst: the nearest plane, row or column; kWay: to the next.
  template <int kPhase, int kFirst, int kWay>
  struct InnerPlanes {
    const Plane (&window)[kSlots];
    int row, column;
    template <int kField, int kDistance>
    WARPLOOM_DEVICE T get() const {
      constexpr int kDx = kFirst + kWay * kDistance;
      if constexpr (kDx < -kRx || kDx > kRx) return T(0);
      else return window[slot(kPhase, kDx)].at[kField][kRy + row][kRz + column];
    }
  };
  template <int kFirst, int kWay>
  struct InnerRows {
    const Plane& plane;
    int column;
    template <int kField, int kDistance>
    WARPLOOM_DEVICE T get() const { return plane.at[kField][kRy + kFirst + kWay * kDistance][kRz + column]; }
  };
  template <int kFirst, int kWay>
  struct InnerColumns {
    const Plane& plane;
    int row;
    template <int kField, int kDistance>
    WARPLOOM_DEVICE T get() const { return plane.at[kField][row][kRz + kFirst + kWay * kDistance]; }
  };

  // Planes from and to memory.

  /// Where a thread's part of a plane is in shared memory: each brings and reads its own, so no barrier is needed.
  static WARPLOOM_DEVICE T* ringed(const Block& block, int plane, int field, int r, int e) {
    return block.shared<T>() + (plane & (kRing - 1)) * kPlane
           + (((field * kQ + r) * (kP / kPack) + e / kPack) * 32 * kW + block.thread()) * kPack;
  }
  /// Asks for a plane, if there is work for it; it counts as one group of asynchronous copies anyway.
  static WARPLOOM_DEVICE void request(const Here& here, int plane, int last) {
    const Task& task = here.task;
    if (plane <= last) {
      const int64_t at = static_cast<int64_t>(inside<Scheme::kPeriodicX>(plane, here.p.n0)) * task.plane;
      WARPLOOM_UNROLL
      for (int f = 0; f < kFields; ++f) {
        const T* const in_plane = task.y + f * task.cells + at;
        WARPLOOM_UNROLL
        for (int r = 0; r < kQ; ++r) {
          const T* const from = in_plane + task.first_of[r];
          if (task.whole) {
            WARPLOOM_UNROLL
            for (int e = 0; e < kP; e += kPack) {
              device::async_copy<kPack * sizeof(T)>(here.block, ringed(here.block, plane, f, r, e),
                                                    from + (kP == kPack ? 0 : task.columns[e] - task.columns[0]));
            }
          } else {
            WARPLOOM_UNROLL
            for (int e = 0; e < kP; ++e) {
              T* const to = ringed(here.block, plane, f, r, e) + e % kPack;
              device::async_copy<sizeof(T)>(here.block, to, from + (task.columns[e] - task.columns[0]));
            }
          }
        }
      }
    }
    device::async_commit(here.block);
  }
  /// Takes a plane that was asked for kRing - 1 planes ago, and asks for the next one.
  static WARPLOOM_DEVICE void take(const Here& here, int plane, int last, Plane& to) {
    device::async_wait<kRing - 2>(here.block);
    WARPLOOM_UNROLL
    for (int f = 0; f < kFields; ++f) {
      WARPLOOM_UNROLL
      for (int r = 0; r < kQ; ++r) {
        WARPLOOM_UNROLL
        for (int e = 0; e < kP; e += kPack) {
          const auto pack = *reinterpret_cast<const Packed*>(ringed(here.block, plane, f, r, e));
          WARPLOOM_UNROLL
          for (int i = 0; i < kPack; ++i) to.at[f][kRy + r][kRz + e + i] = pack.item[i];
        }
      }
    }
    request(here, plane + kRing - 1, last);
  }
  /// Stores what the thread owns of a plane.
  static WARPLOOM_DEVICE void store(const Here& here, int plane, const T (&made)[kFields][kQ][kP]) {
    const Task& task = here.task;
    T* const first = task.o + (static_cast<int64_t>(plane) * task.plane + task.own);
    if (task.whole) {
      WARPLOOM_UNROLL
      for (int f = 0; f < kFields; ++f) {
        T* to = first + f * task.cells;
        WARPLOOM_UNROLL
        for (int r = 0; r < kQ; ++r, to += here.p.n2) {
          WARPLOOM_UNROLL
          for (int e = 0; e < kP; e += kPack) {
            Packed pack;
            WARPLOOM_UNROLL
            for (int i = 0; i < kPack; ++i) pack.item[i] = made[f][r][e + i];
            if (task.owned_row[r] && task.owned[e]) *reinterpret_cast<Packed*>(to + e) = pack;
          }
        }
      }
    } else {
      WARPLOOM_UNROLL
      for (int f = 0; f < kFields; ++f) {
        T* to = first + f * task.cells;
        WARPLOOM_UNROLL
        for (int r = 0; r < kQ; ++r, to += here.p.n2) {
          WARPLOOM_UNROLL
          for (int e = 0; e < kP; ++e) {
            if (task.owned_row[r] && task.owned[e]) to[e] = made[f][r][e];
          }
        }
      }
    }
  }

  // Neighbours in other threads, and cells beyond the boundaries.

  static WARPLOOM_DEVICE T* edge(const Block& block, T* region, int field, int warp, int side, int k, int e) {
    return region + (((((field * kW + warp) * 2 + side) * kRy + k) * (kP / kPack) + e / kPack) * 32 + block.lane()) * kPack;
  }
  /// Tells the other warps the first (side 0) and last rows of a plane that they read.
  template <int kStage>
  static WARPLOOM_DEVICE void publish(const Block& block, T* region, const Plane& plane) {
    WARPLOOM_UNROLL
    for (int f = 0; f < kFields; ++f) {
      WARPLOOM_UNROLL
      for (int k = 0; k < kRy; ++k) {
        WARPLOOM_UNROLL
        for (int side = 0; side < 2; ++side) {
          if (Scheme::columns(kStage, f, side == 0 ? kRy + kQ + k : k) == 0) continue;
          WARPLOOM_UNROLL
          for (int e = 0; e < kP; e += kPack) {
            Packed pack;
            WARPLOOM_UNROLL
            for (int i = 0; i < kPack; ++i) pack.item[i] = plane.at[f][side == 0 ? kRy + k : kQ + k][kRz + e + i];
            *reinterpret_cast<Packed*>(edge(block, region, f, block.warp(), side, k, e)) = pack;
          }
        }
      }
    }
  }
  template <int kStage>
  static WARPLOOM_DEVICE void hear(const Block& block, T* region, Plane& plane) {
    WARPLOOM_UNROLL
    for (int side = 0; side < 2; ++side) {
      const int other = block.warp() + (side == 0 ? 1 : -1);  // whose first rows follow this warp's, or whose last rows precede them
      if (other < 0 || other >= kW) continue;
      WARPLOOM_UNROLL
      for (int f = 0; f < kFields; ++f) {
        WARPLOOM_UNROLL
        for (int k = 0; k < kRy; ++k) {
          const int row = side == 0 ? kRy + kQ + k : k;
          if (Scheme::columns(kStage, f, row) == 0) continue;
          WARPLOOM_UNROLL
          for (int e = 0; e < kP; e += kPack) {
            const auto pack = *reinterpret_cast<const Packed*>(edge(block, region, f, other, side, k, e));
            WARPLOOM_UNROLL
            for (int i = 0; i < kPack; ++i) plane.at[f][row][kRz + e + i] = pack.item[i];
          }
        }
      }
    }
  }

  template <int kSide, int kK>
  static WARPLOOM_DEVICE void ghost_rows(const Here& here, T x, Plane& plane) {
    if constexpr (kK <= kRy) {
      WARPLOOM_UNROLL
      for (int e = 0; e < kP; ++e) {
        T made[kFields];
        const InnerRows<(kSide == 0 ? 0 : kQ - 1), (kSide == 0 ? 1 : -1)> inner{plane, e};
        Scheme::template ghost_y<kSide, kK>(inner, here.q, x, here.centre_z(e), made);
        WARPLOOM_UNROLL
        for (int f = 0; f < kFields; ++f) plane.at[f][kSide == 0 ? kRy - kK : kRy + kQ - 1 + kK][kRz + e] = made[f];
      }
      ghost_rows<kSide, kK + 1>(here, x, plane);
    }
  }
  template <int kSide, int kK>
  static WARPLOOM_DEVICE void ghost_columns(const Here& here, T x, int row, Plane& plane) {
    if constexpr (kK <= kRz) {
      T made[kFields];
      const InnerColumns<(kSide == 0 ? 0 : kP - 1), (kSide == 0 ? 1 : -1)> inner{plane, row};
      Scheme::template ghost_z<kSide, kK>(inner, here.q, x, here.centre_y(row - kRy), made);
      if (here.block.lane() == (kSide == 0 ? 0 : 31)) {
        WARPLOOM_UNROLL
        for (int f = 0; f < kFields; ++f) plane.at[f][row][kSide == 0 ? kRz - kK : kRz + kP - 1 + kK] = made[f];
      }
      ghost_columns<kSide, kK + 1>(here, x, row, plane);
    }
  }

  /// Makes a plane ready to be read beside a thread's cells, once the other warps have published theirs.
  template <int kStage>
  static WARPLOOM_DEVICE void prepare(const Here& here, int plane_number, T* region, Plane& plane) {
    hear<kStage>(here.block, region, plane);
    const T x = here.centre_x(plane_number);
    if constexpr (!Scheme::kPeriodicY) {
      if (here.task.at_low) ghost_rows<0, 1>(here, x, plane);
      if (here.task.at_high) ghost_rows<1, 1>(here, x, plane);
    }
    WARPLOOM_UNROLL
    for (int row = 0; row < kTall; ++row) {
      unsigned int all = 0;
      WARPLOOM_UNROLL
      for (int f = 0; f < kFields; ++f) {
        const unsigned int columns = Scheme::columns(kStage, f, row);
        all |= columns & ~kOwnColumns;
        WARPLOOM_UNROLL
        for (int k = 1; k <= kRz; ++k) {
          T* const at = plane.at[f][row];
          if ((columns >> (kRz - k) & 1u) != 0) at[kRz - k] = device::shuffle_up(here.block, at[kRz + kP - k], 1);
          if ((columns >> (kRz + kP - 1 + k) & 1u) != 0) at[kRz + kP - 1 + k] = device::shuffle_down(here.block, at[kRz + k - 1], 1);
        }
      }
      if constexpr (!Scheme::kPeriodicZ) {
        if (all != 0 && here.task.at_left) ghost_columns<0, 1>(here, x, row, plane);
        if (all != 0 && here.task.at_right) ghost_columns<1, 1>(here, x, row, plane);
      }
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::stencil
