// The strip of columns of a warp, for streaming.cuh: where its lanes' cells are, and how they come from and go to memory.
#pragma once
#include "cuda/stencil/scheme.cuh"

namespace warploom::WARPLOOM_TARGET::stencil {

template <class T, int kDepth, int kStages>
struct PassParameters {
  const T* y;
  T* o;
  const T* c;   ///< coefficients, the same for all members
  const T* p;   ///< parameters: [member][parameter]
  int* status;  ///< the least number of a step that was bad
  T dt;
  T t[kDepth * kStages];  ///< of every stage
  T h[kStages], g[kStages];
  int32_t n0, n1;
  int32_t members, strips, chunks, rows_per_chunk;
  int32_t step;  ///< the number of the first one
};

template <class Scheme>
struct Strip {
  using T = typename Scheme::Real;
  static constexpr int kStages = Scheme::kStages, kDepth = Scheme::kDepth, kLevels = kStages * kDepth;
  using Parameters = PassParameters<T, kDepth, kStages>;
  using Block = device::Block;
  static constexpr int kP = Scheme::kPoints, kRx = Scheme::kReachX, kRy = Scheme::kReachY;
  static constexpr int kFields = Scheme::kFields, kComponents = Scheme::kComponents, kWide = kP + 2 * kRy;
  /// Lanes at each side of a strip whose columns become wrong.
  static constexpr int kHalo = (kLevels * kRy + kP - 1) / kP;
  static constexpr int kOwn = (32 - 2 * kHalo) * kP;  ///< columns of a strip
  static constexpr int kVector = 16 / sizeof(T), kPack = kP % kVector == 0 ? kVector : 1;
  struct alignas(kPack * sizeof(T)) Packed {
    T item[kPack];
  };
  /// Rows in shared memory: one that is in use, the others on their way.
  static constexpr int kRing = Scheme::kRing;
  using Row = T[kComponents][kWide];

  /// Everything that a warp knows about its strip and rows.
  struct Task {
    int base, own;         ///< columns of the first lane's first point, and of this one's
    int low, high;         ///< columns that it stores
    int first, end;        ///< rows that it stores
    bool at_left, at_right;  ///< the strip ends at a boundary that is not periodic
    bool whole;            ///< lanes load and store vectors
    int columns[kP];       ///< where this lane's columns are in memory
    bool owned[kP];
    bool mine;  ///< the lane's columns come out right here, and it stores some of them
    const T* y;
    T* o;
  };

  static WARPLOOM_DEVICE Task task_of(const Block& block, const Parameters& p, int strip, int chunk, int member) {
    Task task;
    const bool is_last = strip == p.strips - 1;
    const int last = p.n1 - (32 - kHalo) * kP;
    task.base = !Scheme::kPeriodicY && is_last ? last : strip * kOwn - kHalo * kP;
    task.low = !Scheme::kPeriodicY && is_last ? last + kHalo * kP : strip * kOwn;
    task.high = is_last ? p.n1 : (strip + 1) * kOwn;
    if (!Scheme::kPeriodicY && !is_last && task.high > last + kHalo * kP) task.high = last + kHalo * kP;
    task.at_left = !Scheme::kPeriodicY && strip == 0;
    task.at_right = !Scheme::kPeriodicY && is_last;
    task.first = chunk * p.rows_per_chunk;
    task.end = task.first + p.rows_per_chunk < p.n0 ? task.first + p.rows_per_chunk : p.n0;
    const int own = task.own = task.base + block.lane() * kP;
    task.whole = p.n1 % kPack == 0 && own >= 0 && own + kP <= p.n1;
    const int lane = block.lane();
    WARPLOOM_UNROLL
    for (int e = 0; e < kP; ++e) {
      const int column = own + e;
      task.columns[e] = inside<Scheme::kPeriodicY>(column, p.n1);
      task.owned[e] = lane >= kHalo && lane < 32 - kHalo && column >= task.low && column < task.high;
    }
    task.mine = lane >= kHalo && lane < 32 - kHalo && own < task.high && own + kP > task.low;
    const int64_t cells = static_cast<int64_t>(p.n0) * p.n1;
    task.y = p.y + member * kFields * cells;
    task.o = p.o + member * kFields * cells;
    return task;
  }

  /// Where a lane's part of a row is in shared memory: each lane brings and reads its own, so no barrier is needed.
  static WARPLOOM_DEVICE T* ringed(const Block& block, int row, int field, int e) {
    const int slot = row & (kRing - 1);
    return block.shared<T>() + (((slot * kFields + field) * (kP / kPack) + e / kPack) * 32 + block.lane()) * kPack;
  }

  /// Asks for a row, if there is work for it; it counts as one group of asynchronous copies anyway.
  static WARPLOOM_DEVICE void request(const Block& block, const Parameters& p, const Task& task, int row, int last) {
    if (row <= last) {
      const int at = inside<Scheme::kPeriodicX>(row, p.n0);
      const int64_t cells = static_cast<int64_t>(p.n0) * p.n1;
      WARPLOOM_UNROLL
      for (int f = 0; f < kFields; ++f) {
        const T* from = task.y + f * cells + static_cast<int64_t>(at) * p.n1;
        if (task.whole) {
          WARPLOOM_UNROLL
          for (int e = 0; e < kP; e += kPack) {
            device::async_copy<kPack * sizeof(T)>(block, ringed(block, row, f, e), from + task.columns[0] + e);
          }
        } else {
          WARPLOOM_UNROLL
          for (int e = 0; e < kP; ++e) device::async_copy<sizeof(T)>(block, ringed(block, row, f, e) + e % kPack, from + task.columns[e]);
        }
      }
    }
    device::async_commit(block);
  }

  /// Takes a row that was asked for kRing - 1 rows ago, and asks for the next one.
  static WARPLOOM_DEVICE void take(const Block& block, const Parameters& p, const Task& task, int row, int last, Row& to) {
    device::async_wait<kRing - 2>(block);
    WARPLOOM_UNROLL
    for (int f = 0; f < kFields; ++f) {
      WARPLOOM_UNROLL
      for (int e = 0; e < kP; e += kPack) {
        const auto pack = *reinterpret_cast<const Packed*>(ringed(block, row, f, e));
        WARPLOOM_UNROLL
        for (int i = 0; i < kPack; ++i) to[f][kRy + e + i] = pack.item[i];
      }
    }
    request(block, p, task, row + kRing - 1, last);
  }

  static WARPLOOM_DEVICE void store(const Parameters& p, const Task& task, int row, const T (&made)[kFields][kP]) {
    const int64_t cells = static_cast<int64_t>(p.n0) * p.n1;
    WARPLOOM_UNROLL
    for (int f = 0; f < kFields; ++f) {
      T* to = task.o + f * cells + static_cast<int64_t>(row) * p.n1;
      if (task.whole && task.owned[0] && task.owned[kP - 1]) {
        WARPLOOM_UNROLL
        for (int e = 0; e < kP; e += kPack) {
          Packed pack;
          WARPLOOM_UNROLL
          for (int i = 0; i < kPack; ++i) pack.item[i] = made[f][e + i];
          *reinterpret_cast<Packed*>(to + task.columns[0] + e) = pack;
        }
      } else {
        WARPLOOM_UNROLL
        for (int e = 0; e < kP; ++e) {
          if (task.owned[e]) to[task.columns[e]] = made[f][e];
        }
      }
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::stencil
