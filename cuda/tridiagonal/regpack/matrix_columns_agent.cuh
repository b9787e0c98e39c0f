// CR-RegPack for interleaved systems that share a matrix, in one pass. A block takes as many neighbouring systems as it
// has registers for, at least 32 bytes of each row, and holds all their right-hand sides. Thread t holds rows of unit t
// % units (a double, or two adjacent floats) from (t / units) * kDepth on. One row per thread is left between them; a
// warp solves those of a unit, transposed in shared memory. The matrix is factored once per block (MatrixTable).
#pragma once
#include <type_traits>

#include "cuda/tridiagonal/regpack/matrix_table.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T>
struct MatrixColumnsParameters {
  Batch<T> batch;
  int units;      ///< per block, a power of two up to 16
  int ranks;      ///< threads per unit
  bool paired;    ///< units are contiguous 8 bytes, at multiples of 8
  int64_t tiles;  ///< of units*kWidth systems
};

template <class T>
struct MatrixColumnsAgent {
  static constexpr int kDepth = 32, kInner = 4;
  static constexpr int kMostRanks = 32 * kInner;
  static constexpr int kMaxThreads = 512;
  static constexpr int kMinBlocks = 1;
  static constexpr int kWidth = 8 / static_cast<int>(sizeof(T));  ///< systems per unit
  static constexpr int kFewestUnits = 4, kMostUnits = 16;
  using Parameters = MatrixColumnsParameters<T>;
  using V = std::conditional_t<kWidth == 2, Sides<T, 2>, T>;
  using Outer = MatrixTable<T, kDepth>;
  using Inner = MatrixTable<T, kInner>;
  using Rows = SideRows<T, kDepth, V, PartsInMemory<T, kDepth>>;
  using InnerRows = SideRows<T, kInner, V, PartsInMemory<T, kInner>>;
  using Between = LaneParts<T, 5>;

  /// Position of a rank's row among those of its unit: the rows of a lane, then a gap, to avoid bank conflicts.
  static constexpr WARPLOOM_HOST_DEVICE int place(int rank) { return rank + rank / kInner; }
  static constexpr WARPLOOM_HOST_DEVICE int pitch(int units) { return place(kMostRanks) + kMostUnits / units; }
  static size_t shared_bytes(int units, int ranks) {
    return Outer::bytes(ranks) + Inner::bytes(32) + 3 * sizeof(V) * units * pitch(units) + sizeof(T) * place(kMostRanks) +
           32 * sizeof(Between) + 2 * sizeof(int) * units * kWidth;
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    MatrixColumnsAgent agent(block, p);
    int64_t tile = block.index();
    if (tile >= p.tiles) return;
    PartsInMemory<T, kDepth> parts;
    Rows rows(parts);
    agent.take(tile, rows);
    agent.factor();
    parts.take(agent.outer_, agent.rank_);
    int64_t previous = -1;
    int parity = 0;
    for (;;) {
      Downsweep<kDepth>::down(rows);
      agent.solve_between(rows, previous, parity);
      Downsweep<kDepth>::up(rows);
      agent.judge(tile, rows, parity);
      agent.store(tile, rows);
      previous = tile;
      parity ^= 1;
      tile += block.count();
      if (tile >= p.tiles) break;
      agent.take(tile, rows);
    }
    block.sync();
    agent.report(previous, parity ^ 1);
  }

 private:
  const device::Block& block_;
  const Parameters& p_;
  /// The calling thread's unit, its rank in it, and its first row.
  const int unit_, rank_, first_;
  const Outer outer_;
  const Inner inner_;
  /// One row per thread; unit u starts at u*pitch.
  V *const sides_, *const fronts_, *const unknowns_;
  T* const next_;                                     ///< by rank: the coefficient of the next thread's front
  Between* const between_;                            ///< by lane
  int* const verdicts_;                               ///< of a tile and the previous one

  WARPLOOM_DEVICE MatrixColumnsAgent(const device::Block& block, const Parameters& p)
      : block_(block), p_(p), unit_(block.thread() & (p.units - 1)), rank_(block.thread() / p.units), first_(rank_ * kDepth),
        outer_(block.shared<unsigned char>(), p.ranks), inner_(block.shared<unsigned char>(Outer::bytes(p.ranks)), 32),
        sides_(block.shared<V>(Outer::bytes(p.ranks) + Inner::bytes(32))), fronts_(sides_ + p.units * pitch(p.units)),
        unknowns_(fronts_ + p.units * pitch(p.units)), next_(reinterpret_cast<T*>(unknowns_ + p.units * pitch(p.units))),
        between_(reinterpret_cast<Between*>(next_ + place(kMostRanks))), verdicts_(reinterpret_cast<int*>(between_ + 32)) {
    if (block.thread() < 2 * p.units * kWidth) verdicts_[block.thread()] = 0;
  }

  static WARPLOOM_DEVICE T& item(V& value, int k) {
    if constexpr (kWidth == 2) return value.item[k];
    else return value;
  }
  static WARPLOOM_DEVICE T item(const V& value, int k) {
    if constexpr (kWidth == 2) return value.item[k];
    else return value;
  }

  /// How many systems of the thread's unit exist.
  WARPLOOM_DEVICE int present(int64_t tile) const {
    const int64_t left = p_.batch.systems - system_of(tile);
    return left < 0 ? 0 : left < kWidth ? static_cast<int>(left) : kWidth;
  }
  WARPLOOM_DEVICE int64_t system_of(int64_t tile) const { return (tile * p_.units + unit_) * kWidth; }

  WARPLOOM_DEVICE void take(int64_t tile, Rows& rows) const {
    const int count = present(tile);
    const int64_t left = p_.batch.n - first_, stride = p_.batch.rhs.row_stride;
    const T* from = p_.batch.rhs.data + system_of(tile) + first_ * stride;
    if (p_.paired && count == kWidth) {
      WARPLOOM_UNROLL
      for (int j = 0; j < kDepth; ++j) {
        rows.d[j] = j < left ? *reinterpret_cast<const V*>(from) : V{};
        from += stride;
      }
      return;
    }
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      WARPLOOM_UNROLL
      for (int k = 0; k < kWidth; ++k) item(rows.d[j], k) = j < left && k < count ? from[k] : T(0);
      from += stride;
    }
  }
  WARPLOOM_DEVICE void store(int64_t tile, const Rows& rows) const {
    const int count = present(tile);
    const int64_t left = p_.batch.n - first_, stride = p_.batch.solution.row_stride;
    T* to = p_.batch.solution.data + system_of(tile) + first_ * stride;
    if (p_.paired && count == kWidth) {
      WARPLOOM_UNROLL
      for (int j = 0; j < kDepth; ++j) {
        if (j < left) *reinterpret_cast<V*>(to) = rows.d[j];
        to += stride;
      }
      return;
    }
    WARPLOOM_UNROLL
    for (int j = 0; j < kDepth; ++j) {
      WARPLOOM_UNROLL
      for (int k = 0; k < kWidth; ++k) {
        if (j < left && k < count) to[k] = item(rows.d[j], k);
      }
      to += stride;
    }
  }

  /// Factors the matrix: inside the threads' rows, between the rows of each lane's 8 threads, and between lanes. Ends
  /// with a barrier.
  WARPLOOM_DEVICE void factor() const {
    outer_.set(block_, outer_.template load<kDepth / kFewestUnits>(block_, p_.batch, 0, p_.ranks), p_.ranks);
    block_.sync();
    if (block_.thread() < p_.ranks) outer_.reduce(block_.thread());
    block_.sync();
    if (block_.warp() == 0) {
      const int lane = block_.lane();
      WARPLOOM_UNROLL
      for (int j = 0; j < kInner; ++j) {
        const int rank = lane * kInner + j;
        Row<T> row{T(0), T(1), T(0), T(0)};
        if (rank < p_.ranks) row = outer_.last(rank);
        next_[place(rank)] = row.c;
        if (rank + 1 < p_.ranks) absorb_front(row, outer_.fronts[rank + 1]);
        inner_.set(lane, j, row);
      }
      inner_.reduce(lane);
      block_.sync_warp();
      Row<T> row = inner_.last(lane);
      Front<T> front = inner_.fronts[lane < 31 ? lane + 1 : lane];
      Pivots met = inner_.pivots(lane);
      Between between;
      between.factor(block_, row, front, 32, met, kInner - 1);
      if (lane == 31) between.inverse = met.reciprocal(row.b, kInner - 1);
      between_[lane] = between;
      // Findings at the threads' last rows are reported by these threads.
      for (int j = 0; j < kInner; ++j) {
        const int rank = lane * kInner + j;
        const unsigned int zero = (met.zero >> j & 1u) << (kDepth - 1);
        if (rank < p_.ranks) outer_.note(rank, zero, met.infinite);
      }
    }
    block_.sync();
  }

  /// Computes the threads' last unknowns, and the words of the previous tile.
  WARPLOOM_DEVICE void solve_between(Rows& rows, int64_t previous, int parity) const {
    const int at = unit_ * pitch(p_.units) + place(rank_);
    sides_[at] = rows.d[kDepth - 1];
    fronts_[at] = rows.front;
    block_.sync();
    report(previous, parity ^ 1);
    WARPLOOM_NO_UNROLL
    for (int unit = block_.warp(); unit < p_.units; unit += block_.threads() / 32) solve_unit(unit);
    block_.sync();
    rows.x_left = rank_ > 0 ? unknowns_[unit_ * pitch(p_.units) + place(rank_ - 1)] : V{};
    rows.d[kDepth - 1] = unknowns_[at];
  }
  /// Called by one warp: a lane takes the rows of kInner threads.
  WARPLOOM_DEVICE void solve_unit(int unit) const {
    const int lane = block_.lane(), from = lane * kInner, base = unit * pitch(p_.units);
    PartsInMemory<T, kInner> parts;
    parts.take(inner_, lane);
    InnerRows rows(parts);
    WARPLOOM_UNROLL
    for (int j = 0; j < kInner; ++j) {
      const int rank = from + j;
      rows.d[j] = rank < p_.ranks ? sides_[base + place(rank)] : V{};
      if (rank + 1 < p_.ranks) rows.d[j] = device::fma(next_[place(rank)], fronts_[base + place(rank + 1)], rows.d[j]);
    }
    Downsweep<kInner>::down(rows);
    const Between& between = between_[lane];
    V d = rows.d[kInner - 1], front = rows.front;
    between.reduce(block_, d, front, 32);
    const V x = between.substitute(block_, d, d * between.inverse, V{}, 32);
    const V left = device::shuffle_up(block_, x, 1);
    rows.x_left = lane == 0 ? V{} : left;
    rows.d[kInner - 1] = x;
    Downsweep<kInner>::up(rows);
    WARPLOOM_UNROLL
    for (int j = 0; j < kInner; ++j) {
      if (from + j < p_.ranks) unknowns_[base + place(from + j)] = rows.d[j];
    }
  }

  WARPLOOM_DEVICE void judge(int64_t tile, const Rows& rows, int parity) const {
    const Pivots pivots = outer_.pivots(rank_);
    if (!pivots.infinite && pivots.zero == 0 && rows.finite()) return;
    const int count = present(tile);
    WARPLOOM_NO_UNROLL
    for (int k = 0; k < count; ++k) {
      T d[kDepth];
      WARPLOOM_UNROLL
      for (int j = 0; j < kDepth; ++j) d[j] = kWidth == 1 || k == 0 ? item(rows.d[j], 0) : item(rows.d[j], kWidth - 1);
      const int verdict = inspect_rows<T, kDepth>(p_.batch, system_of(tile) + k, 0, first_, pivots, d);
      if (verdict != 0) device::atomic_min(&verdicts_[(parity * p_.units + unit_) * kWidth + k], verdict);
    }
  }
  /// Writes the words of a tile; call it after a barrier.
  WARPLOOM_DEVICE void report(int64_t tile, int parity) const {
    const int slot = block_.thread();
    if (tile < 0 || slot >= p_.units * kWidth) return;
    int& verdict = verdicts_[parity * p_.units * kWidth + slot];
    const int64_t system = tile * p_.units * kWidth + slot;
    if (system < p_.batch.systems) store_verdict(p_.batch, system, verdict);
    verdict = 0;
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
