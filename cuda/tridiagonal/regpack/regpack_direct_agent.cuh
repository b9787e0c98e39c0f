// CR-RegPack without staging: few rows per lane, loaded as coalesced vectors from global memory to registers. One
// system per block of kWarps warps, or several per warp (kWarps = 1), and one tile per worker. A small batch is limited
// by one chain of latencies, so the fast path has no branches and one barrier: it assumes that pivots are ordinary. A
// block that meets any other pivot, or a non-finite unknown between its warps, starts again and treats every pivot
// exactly.
#pragma once
#include "cuda/tridiagonal/regpack/cr_regpack_agent.cuh"
#include "cuda/tridiagonal/regpack/regpack_kept.cuh"
#include "cuda/tridiagonal/verify/lane_measure.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T>
struct DirectParameters {
  FullBatch<T> full;
  int width;         ///< lanes per system, a power of two; 32 with several warps
  int systems_log2;  ///< log2(systems per block)
};

/// With `check`: how to judge the answers.
template <class T>
struct CheckedDirectParameters : DirectParameters<T> {
  Judging judging;
};

/// kChecks: answers are measured with rows that stay on chip.
template <class T, int kDepth, int kWarps, bool kChecks = false>
struct DirectRegpackAgent {
  static constexpr int kMaxThreads = kWarps == 1 ? 128 : 32 * kWarps;
  /// With `check`: as many warps per multiprocessor as without.
  static constexpr int kRowBytes = kDepth * static_cast<int>(sizeof(T));
  static constexpr int kWarpsResident = kRowBytes > 32 ? 16 : sizeof(T) == 4 ? 28 : 20;
  static constexpr int kMinBlocks = kChecks ? kWarpsResident * 32 / kMaxThreads : 1;
  using Parameters = std::conditional_t<kChecks, CheckedDirectParameters<T>, DirectParameters<T>>;
  using Kept = KeptRows<T, kDepth>;
  using Lane = RegpackLane<T, kDepth, true>;
  using Pack = device::Pack<T>;
  static constexpr int kChunks = kDepth / Pack::kCount;
  static constexpr size_t kRecordBytes = kWarps * sizeof(WarpRecord<T>);
  /// Shared memory with `check`: after the records and the verdict, the data that warps exchange about their answers,
  /// and the kept rows.
  static constexpr size_t kEdgesAt = (kRecordBytes + sizeof(int) + 7) / 8 * 8, kFindingsAt = kEdgesAt + kWarps * sizeof(T);
  static constexpr size_t kKeptAt =
      !kChecks || kWarps == 1 ? 0 : ((kFindingsAt + 7) / 8 * 8 + kWarps * sizeof(RowsFinding) + 15) / 16 * 16;
  static constexpr size_t shared_bytes(int threads) {
    if (!kChecks) return kWarps > 1 ? kRecordBytes + sizeof(int) : 0;
    return kKeptAt + threads * Kept::kThreadBytes;
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const Place place = place_of(block, p);
    Answer answer;
    const bool quick = solve<PivotCare::quick>(block, p, place, answer);
    if (!kChecks && quick) return;
    if (!quick) {
      if (kWarps > 1) block.sync();  // the records have been read
      solve<PivotCare::exact>(block, p, place, answer);
    }
    if constexpr (kChecks) {
      store(p.full, place, answer.x);
      measure(block, p, place, answer, !quick);
    }
  }

 private:
  template <PivotCare kCare>
  using Rows = RegisterRows<T, kDepth, kCare>;
  template <PivotCare kCare>
  using Outer = RegisterRows<T, kWarps, kCare>;

  /// The rows and system of the calling lane.
  struct Place {
    int system, rank, width, first;  ///< first: its first row
    bool present;                    ///< the system exists
  };
  /// With `check`: a lane's unknowns, the previous one, and its rows.
  struct Answer {
    T x[kDepth], before;
    Kept kept;
  };
  static constexpr int kNowhere = 1 << 30;  ///< first row of a lane without a system

  static WARPLOOM_DEVICE Place place_of(const device::Block& block, const Parameters& p) {
    if constexpr (kWarps > 1) {
      return {static_cast<int>(block.index()), block.thread(), 32, block.thread() * kDepth, true};
    } else {
      const int system = static_cast<int>(block.index() << p.systems_log2) + block.thread() / p.width;
      const int rank = block.thread() & (p.width - 1);
      const bool present = system < p.full.systems;
      return {system, rank, p.width, present ? rank * kDepth : kNowhere, present};
    }
  }

  /// False if the fast path failed for this block (with one warp: this warp); then nothing is stored.
  template <PivotCare kCare>
  static WARPLOOM_DEVICE bool solve(const device::Block& block, const Parameters& p, const Place& place, Answer& answer) {
    constexpr bool kQuick = kCare == PivotCare::quick;
    auto* records = block.shared<WarpRecord<T>>();
    int* verdict = block.shared<int>(kRecordBytes);
    Rows<kCare> rows;
    take(p.full, place, rows);
    if constexpr (kChecks) answer.kept.keep(block, block.shared<unsigned char>(kKeptAt), rows);
    Downsweep<kDepth>::down(rows);
    Row<T> row;
    Front<T> front;
    eliminate(block, place, rows, row, front);
    if constexpr (kWarps == 1) {
      T x = row.d;
      if (place.rank == place.width - 1) x = row.d * invert<kCare>(row.b, rows.pivots);
      if (kQuick && device::ballot(block, !(rows.pivots.ordinary && device::is_finite(x))) != 0) return false;
      Lane::template descend<kQuick>(block, rows, row, x, T(0), place.width);
    } else {
      if (block.thread() == 0) {
        if (kQuick && !kChecks) store_verdict(p.full, place.system, 0);
        if (!kQuick) *verdict = 0;
      }
      publish(block, rows.pivots, row, front, records);
      Outer<kCare> outer;
      between_warps(records, outer);
      if (kQuick && !good(outer)) return false;
      note(block, outer, rows);
      T last = outer.d[0], before = T(0);
      WARPLOOM_UNROLL
      for (int w = 1; w < kWarps; ++w) {
        if (block.warp() == w) {
          before = outer.d[w - 1];
          last = outer.d[w];
        }
      }
      Lane::template descend<kQuick>(block, rows, row, last, before, 32);
    }
    if constexpr (kChecks) {
      if constexpr (!kQuick) report(block, p, place, rows, verdict);
      WARPLOOM_UNROLL
      for (int j = 0; j < kDepth; ++j) answer.x[j] = rows.d[j];
      answer.before = rows.x_left;
    } else if constexpr (kQuick) {
      // Any other non-finite value overflowed during the substitution: no row to name.
      const bool overflow = place.present && Lane::suspicious(rows);
      if constexpr (kWarps > 1) {
        // After the barrier that follows the words of thread 0.
        if (overflow) {
          device::atomic_or(&p.full.status[place.system], static_cast<int>(operation::SystemStatus::inaccurate));
        }
      } else {
        const unsigned int mine = device::ballot(block, overflow) >> (block.lane() - place.rank) &
                                  (~0u >> (32 - place.width));
        if (place.rank == 0 && place.present) {
          store_verdict(p.full, place.system, mine != 0 ? make_verdict(Finding::overflow, 0) : 0);
        }
      }
    } else {
      report(block, p, place, rows, verdict);
    }
    if constexpr (!kChecks) store(p.full, place, rows.d);
    return true;
  }

  /// Measures the answers, and judges each system of the block.
  /// `exact`: after the exact path, which has written a word; the fast path writes none.
  static WARPLOOM_DEVICE void measure(const device::Block& block, const Parameters& p, const Place& place,
                                      const Answer& answer, bool exact) {
    const int rank = kWarps > 1 ? block.lane() : place.rank, left = p.full.n - place.first;
    T after = device::shuffle_down(block, answer.x[0], 1);
    if constexpr (kWarps > 1) {
      T* const edges = block.shared<T>(kEdgesAt);
      if (rank == 0) edges[block.warp()] = answer.x[0];
      block.sync();
      if (rank == 31) after = block.warp() + 1 < kWarps ? edges[block.warp() + 1 < kWarps ? block.warp() + 1 : 0] : T(0);
    } else if (rank == place.width - 1) {
      after = T(0);
    }
    const int count = left < 0 ? 0 : left < kDepth ? left : kDepth;
    const RowsFinding found = measure_lanes<T, kDepth>(
        block, answer.kept, answer.x, answer.before, after, place.first, count, place.width,
        place.present, exact);
    if constexpr (kWarps > 1) {
      auto* const findings = block.shared<RowsFinding>((kFindingsAt + 7) / 8 * 8);
      if (rank == 0) findings[block.warp()] = found;
      block.sync();
      if (block.thread() == 0) {
        RowsFinding all = found;
        WARPLOOM_UNROLL
        for (int w = 1; w < kWarps; ++w) all = combine(all, findings[w]);
        judge(p.judging, p.full, place.system, all, exact ? p.full.status[place.system] : 0);
      }
    } else if (rank == 0 && place.present) {
      judge(p.judging, p.full, place.system, found, exact ? p.full.status[place.system] : 0);
    }
  }

  /// The reciprocal of a lane's last pivot.
  template <PivotCare kCare>
  static WARPLOOM_DEVICE T invert(const T& pivot, Pivots& pivots) {
    if constexpr (kCare == PivotCare::exact) {
      return pivots.extraordinary(pivot, kDepth - 1);
    } else {
      return device::ordinary_reciprocal(pivot, pivots.ordinary);
    }
  }

  /// Rows beyond the system are identity rows; with kChecks their answers can be measured. Entries outside the system
  /// are zero.
  template <PivotCare kCare>
  static WARPLOOM_DEVICE void take(const FullBatch<T>& full, const Place& place, Rows<kCare>& rows) {
    load(full, place, 0, T(0), rows.a);
    load(full, place, 1, T(1), rows.b);
    load(full, place, 2, T(0), rows.c);
    load(full, place, 3, T(kChecks ? 1 : 0), rows.d);
    if (place.first == 0) rows.a[0] = T(0);
    WARPLOOM_UNROLL
    for (int j = Pack::kCount - 1; j < kDepth; j += Pack::kCount) {
      if (place.first + j + 1 == full.n) rows.c[j] = T(0);
    }
  }
  static WARPLOOM_DEVICE void load(const FullBatch<T>& full, const Place& place, int v, const T& otherwise,
                                   T (&to)[kDepth]) {
    const auto* from = reinterpret_cast<const Pack*>(full.array[v] + place.system * full.system_stride + place.first);
    WARPLOOM_UNROLL
    for (int j = 0; j < kChunks; ++j) {
      Pack pack;
      if (place.first + j * Pack::kCount < full.n) {
        pack = from[j];
      } else {
        WARPLOOM_UNROLL
        for (int k = 0; k < Pack::kCount; ++k) pack.item[k] = otherwise;
      }
      WARPLOOM_UNROLL
      for (int k = 0; k < Pack::kCount; ++k) to[j * Pack::kCount + k] = pack.item[k];
    }
  }
  static WARPLOOM_DEVICE void store(const FullBatch<T>& full, const Place& place, const T (&x)[kDepth]) {
    auto* to = reinterpret_cast<Pack*>(full.array[4] + place.system * full.solution_stride + place.first);
    WARPLOOM_UNROLL
    for (int j = 0; j < kChunks; ++j) {
      Pack pack;
      WARPLOOM_UNROLL
      for (int k = 0; k < Pack::kCount; ++k) pack.item[k] = x[j * Pack::kCount + k];
      if (place.first + j * Pack::kCount < full.n) to[j] = pack;
    }
  }

  /// The stages across the lanes of a warp; leaves `row` and `front` like eliminate_lanes.
  template <PivotCare kCare>
  static WARPLOOM_DEVICE void eliminate(const device::Block& block, const Place& place, Rows<kCare>& rows, Row<T>& row,
                                        Front<T>& front) {
    constexpr bool kFront = kWarps > 1, kExact = kCare == PivotCare::exact;
    const int rank = block.lane() & (place.width - 1);
    row = rows.last();
    front = kFront ? device::shuffle(block, rows.front, rank + 1, place.width)
                   : device::shuffle_down(block, rows.front, 1);
    if (rank != place.width - 1) absorb_front(row, front);
    const bool ordinary = detail::eliminate_lane_stages<kFront, kExact, !kExact>(block, row, front, place.width,
                                                                                 rows.pivots, kDepth - 1);
    rows.pivots.ordinary = rows.pivots.ordinary & ordinary;
  }

  /// Sends every warp's row and front to all warps. A pivot that was not ordinary is passed on as NaN, which is not
  /// ordinary either.
  static WARPLOOM_DEVICE void publish(const device::Block& block, const Pivots& pivots, Row<T> row,
                                      const Front<T>& front, WarpRecord<T>* records) {
    const bool ordinary = device::ballot(block, !pivots.ordinary) == 0;
    if (block.lane() == 31) {
      if (!ordinary) row.b = static_cast<T>(__builtin_nanf(""));
      records[block.warp()] = {row, front};
    }
    block.sync();
  }

  /// Every thread solves the rows between warps in its own registers.
  template <PivotCare kCare>
  static WARPLOOM_DEVICE void between_warps(const WarpRecord<T>* records, Outer<kCare>& outer) {
    WARPLOOM_UNROLL
    for (int w = 0; w < kWarps; ++w) {
      Row<T> r = records[w].row;
      if (w + 1 < kWarps) {
        absorb_front(r, records[w + 1].front);
      } else {
        r.c = T(0);
      }
      outer.a[w] = r.a;
      outer.b[w] = r.b;
      outer.c[w] = r.c;
      outer.d[w] = r.d;
    }
    Downsweep<kWarps>::down(outer);
    outer.template prepare<1, kWarps>();
    outer.d[kWarps - 1] = outer.d[kWarps - 1] * outer.b[kWarps - 1];
    outer.x_left = T(0);
    Downsweep<kWarps>::up(outer);
  }
  template <PivotCare kCare>
  static WARPLOOM_DEVICE bool good(const Outer<kCare>& outer) {
    bool result = outer.pivots.ordinary;
    WARPLOOM_UNROLL
    for (int w = 0; w < kWarps; ++w) result = result && device::is_finite(outer.d[w]);
    return result;
  }
  /// Passes the findings between the warps to the lane that owns the row.
  template <PivotCare kCare>
  static WARPLOOM_DEVICE void note(const device::Block& block, const Outer<kCare>& outer, Rows<kCare>& rows) {
    if (kCare == PivotCare::quick || block.lane() != 31) return;
    rows.pivots.zero |= (outer.pivots.zero >> block.warp() & 1u) << (kDepth - 1);
    rows.pivots.infinite = rows.pivots.infinite || outer.pivots.infinite;
  }

  /// Writes the words of a system, from its lanes' findings.
  static WARPLOOM_DEVICE void report(const device::Block& block, const Parameters& p, const Place& place,
                                     const Rows<PivotCare::exact>& rows, int* shared_verdict) {
    int verdict = 0;
    if (Lane::suspicious(rows)) {
      Run run{};
      run.rank = place.rank;
      run.system = run.origin = place.system;
      verdict = place.present ? Lane::inspect(batch_of(p.full), run, p.full.n, rows) : 0;
    }
    if constexpr (kWarps > 1) {
      if (verdict != 0) device::atomic_min(shared_verdict, verdict);
      block.sync();
      if (block.thread() == 0) store_verdict(p.full, place.system, *shared_verdict);
    } else {
      for (int mask = 1; mask < place.width; mask *= 2) {
        const int other = device::shuffle_xor(block, verdict, mask);
        verdict = other < verdict ? other : verdict;
      }
      if (place.rank == 0 && place.present) store_verdict(p.full, place.system, verdict);
    }
  }
  static WARPLOOM_DEVICE Batch<T> batch_of(const FullBatch<T>& full) {
    Batch<T> batch;
    batch.n = full.n;
    batch.systems = full.systems;
    Strided<T>* const views[4] = {&batch.lower, &batch.diagonal, &batch.upper, &batch.rhs};
    WARPLOOM_UNROLL
    for (int k = 0; k < 4; ++k) {
      views[k]->data = full.array[k];
      views[k]->system_stride = full.system_stride;
      views[k]->row_stride = 1;
    }
    return batch;
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
