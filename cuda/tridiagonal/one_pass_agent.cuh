// Partition method in one pass: a cooperative launch holds whole systems on chip, one or two chunks per
// block, exchanges one row per block through global memory, and stores the solution. Bands are read
// once. The copies of the next systems run while these are solved.
#pragma once
#include "cuda/tridiagonal/partition_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Blocks per system the exchange can hold: one warp solves their rows, this many per lane (all that
/// the registers beside a chunk's rows allow).
inline constexpr int kInterfaceDepth = 4;
inline constexpr int kMaxInterfaceRows = 32 * kInterfaceDepth;

template <class T>
struct OnePassParameters {
  Batch<T> batch;
  Inputs<T> inputs;
  int blocks_per_system;
  int slots;              ///< systems solved at once
  T* records;             ///< 2 * slots systems of kMaxInterfaceRows records, each of the 7 values an array
  unsigned int* barrier;  ///< zero at launch
  int* verdicts;          ///< one per problem
  int* finished;          ///< one per slot: blocks that finished the slot's last problem
};

/// kChunks = 2: while its second chunk is in registers, the first one's eliminated rows wait in shared
/// memory beside the stage.
template <class T, int kChunks>
struct OnePassAgent {
  static constexpr int kMaxThreads = kChunkThreads<T>;
  static constexpr int kMinBlocks = 1;
  using Parameters = OnePassParameters<T>;
  using Piece = Chunk<T>;
  using Warp = typename Piece::Warp;
  using Lane = typename Warp::Lane;
  static constexpr int kWarpRows = Warp::kWarpRows;
  /// What the warp that solves between the blocks tells the others of its block.
  struct Exchange {
    T last, before;  ///< the block's last unknown, the one before its first row
    int pivot;       ///< of the block's last row there: 1 zero, 2 infinite
  };
  /// The first of two chunks between blocks' rows while its rows wait.
  struct Aside {
    Row<T> outer[Piece::kWarps];
    Front<T> front;
  };
  /// Stage of four arrays, then the solution's stage, which with two chunks is part of the waiting rows.
  static constexpr size_t kWarpBytes = (kChunks == 2 ? 7 : 5) * Lane::kBytes;
  static constexpr size_t kSharedBytes =
      Piece::kWarps * (kWarpBytes + 2 * sizeof(WarpRecord<T>)) + sizeof(Exchange) + sizeof(Aside);

  /// The block's part of a problem.
  struct Place {
    int64_t problem;
    int part;      ///< block within the system
    bool present;  ///< there is such a problem
  };

  static WARPLOOM_DEVICE Place place_of(const device::Block& block, const Parameters& p, int64_t phase) {
    const int slot = static_cast<int>(block.index()) / p.blocks_per_system;
    const int64_t problem = phase * p.slots + slot;
    return {problem, static_cast<int>(block.index()) % p.blocks_per_system, problem < p.batch.problems()};
  }
  static WARPLOOM_DEVICE void load(const device::Block& block, const Parameters& p, const Warp& warp,
                                   const Place& place, int chunk) {
    if (place.present) {
      warp.load(block, p.inputs, Piece::run_of(block, p.batch, place.problem, int64_t{place.part} * kChunks + chunk),
                false);
    }
    device::async_commit(block);
  }
  static WARPLOOM_DEVICE void take(const device::Block& block, const Parameters& p, const Warp& warp,
                                   const Run& run, Piece& piece) {
    device::async_wait<0>(block);
    block.sync_warp();
    warp.take(p.inputs, run, block.lane(), p.batch.rows(run.system), piece.rows);
    block.sync_warp();
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const Warp warp(block.shared<T>(block.warp() * kWarpBytes));
    auto* shared_records = block.shared<WarpRecord<T>>(Piece::kWarps * kWarpBytes);
    auto* exchange = reinterpret_cast<Exchange*>(shared_records + 2 * Piece::kWarps);
    const int64_t phases = (p.batch.problems() + p.slots - 1) / p.slots;
    Place place = place_of(block, p, 0);
    load(block, p, warp, place, 0);
    for (int64_t phase = 0; phase < phases; ++phase) {
      const Place next = place_of(block, p, phase + 1 < phases ? phase + 1 : p.batch.problems());
      T* records = p.records + ((phase & 1) * p.slots + block.index() / p.blocks_per_system) * 7 * kMaxInterfaceRows;
      if (block.thread() == 0 && place.part == 0 && place.present) {
        // Ordered before the first reports by the grid's barrier.
        p.verdicts[place.problem] = 0;
        p.finished[block.index() / p.blocks_per_system] = 0;
      }
      solve(block, p, warp, place, next, shared_records, exchange, records);
      place = next;
    }
    report_last(block, p, place_of(block, p, phases - 1));
  }

 private:
  static WARPLOOM_DEVICE void solve(const device::Block& block, const Parameters& p, const Warp& warp,
                                    const Place& place, const Place& next, WarpRecord<T>* shared_records,
                                    Exchange* exchange, T* records) {
    const Place here = place.present ? place : Place{0, place.part, false};
    const Run first = Piece::run_of(block, p.batch, here.problem, int64_t{here.part} * kChunks);
    Piece piece;
    take(block, p, warp, first, piece);
    load(block, p, warp, kChunks == 2 ? place : next, kChunks - 1);
    piece.reduce(block, shared_records);
    if constexpr (kChunks == 1) {
      // Only warp 0 passes the block's record on; the others follow while it solves between the blocks.
      if (block.warp() == 0) piece.compose(block, shared_records);
      if (block.thread() == Piece::kWarps - 1) put_record(records, here.part, piece.outer, piece.front);
      const Exchange x = exchange_rows(block, p, here, records, exchange, [&] { piece.compose(block, shared_records); });
      piece.substitute(block, x.last, x.before);
      note_last(block, piece, (x.pivot & 1) != 0, (x.pivot & 2) != 0);
      finish(block, p, warp, here, first, piece);
    } else {
      piece.compose(block, shared_records);
      Aside& aside = *reinterpret_cast<Aside*>(exchange + 1);
      const Pivots waiting = put_aside(block, warp, piece, aside);
      const Run second = Piece::run_of(block, p.batch, here.problem, int64_t{here.part} * 2 + 1);
      Piece other;
      take(block, p, warp, second, other);
      load(block, p, warp, next, 0);
      other.reduce(block, shared_records + Piece::kWarps);
      other.compose(block, shared_records + Piece::kWarps);
      // The first chunk's last row leaves between the two: one record per block.
      Row<T> middle = aside.outer[Piece::kWarps - 1];
      absorb_front(middle, last_of(block, other.front));
      Pivots pivots;
      const T r = pivots.reciprocal(middle.b, 0);
      const Equation<T> between{middle.a * r, middle.c * r, middle.d * r};
      if (block.thread() == Piece::kWarps - 1) {
        const ChunkRecord<T> record = joined(other.outer, aside.front, between);
        put_record(records, here.part, record.row, record.front);
      }
      const Exchange x = exchange_rows(block, p, here, records, exchange, [] {});
      const T x_middle =
          device::fma(-between.a, x.before, device::fma(-between.c, x.last, between.d));
      other.substitute(block, x.last, x_middle);
      note_last(block, other, (x.pivot & 1) != 0, (x.pivot & 2) != 0);
      if (here.present) other.judge(block, p.batch, second, p.verdicts + here.problem);
      Piece back;
      bring_back(block, warp, waiting, aside, back);
      if (here.present) warp.store(block, p.batch, second, other.rows);
      block.sync_warp();
      back.substitute(block, x_middle, x.before);
      note_last(block, back, pivots.zero != 0, pivots.infinite);
      finish(block, p, warp, here, first, back);
    }
  }

  template <class V>
  static WARPLOOM_DEVICE V last_of(const device::Block& block, const V& value) {
    return device::shuffle(block, value, Piece::kWarps - 1);
  }
  /// What the chunk's last row met outside the chunk.
  static WARPLOOM_DEVICE void note_last(const device::Block& block, Piece& piece, bool zero, bool infinite) {
    if (block.thread() != Piece::kWarps * 32 - 1) return;
    if (zero) piece.rows.pivots.zero |= 1u << (Piece::kDepth - 1);
    piece.rows.pivots.infinite = piece.rows.pivots.infinite || infinite;
  }
  static WARPLOOM_DEVICE void finish(const device::Block& block, const Parameters& p, const Warp& warp,
                                     const Place& here, const Run& run, Piece& piece) {
    if (here.present) {
      piece.judge(block, p.batch, run, p.verdicts + here.problem);
      warp.store(block, p.batch, run, piece.rows);
    }
    block.sync_warp();
  }

  static WARPLOOM_DEVICE ChunkRecord<T> joined(Row<T> row, Front<T> front, const Equation<T>& between) {
    const T k = -row.a;
    row.b = device::fma(k, between.c, row.b);
    row.d = device::fma(k, between.d, row.d);
    row.a = k * between.a;
    const T m = -front.c;
    front.b = device::fma(m, between.a, front.b);
    front.d = device::fma(m, between.d, front.d);
    front.c = m * between.c;
    return {row, front};
  }

  static WARPLOOM_DEVICE Pivots put_aside(const device::Block& block, const Warp& warp, Piece& piece, Aside& aside) {
    piece.rows.a[Piece::kDepth - 1] = piece.row.a;
    piece.rows.c[Piece::kDepth - 1] = piece.row.c;
    piece.rows.d[Piece::kDepth - 1] = piece.row.d;
    Lane::write(warp.stage + 4 * kWarpRows, block.lane(), piece.rows.a);
    Lane::write(warp.stage + 5 * kWarpRows, block.lane(), piece.rows.c);
    Lane::write(warp.stage + 6 * kWarpRows, block.lane(), piece.rows.d);
    // Every warp has the same; the next barrier is the second chunk's.
    if (block.thread() < Piece::kWarps) aside.outer[block.thread()] = piece.outer;
    if (block.thread() == Piece::kWarps - 1) aside.front = piece.front;
    return piece.rows.pivots;
  }
  static WARPLOOM_DEVICE void bring_back(const device::Block& block, const Warp& warp, const Pivots& waiting,
                                         const Aside& aside, Piece& piece) {
    Lane::read(warp.stage + 4 * kWarpRows, block.lane(), piece.rows.a);
    Lane::read(warp.stage + 5 * kWarpRows, block.lane(), piece.rows.c);
    Lane::read(warp.stage + 6 * kWarpRows, block.lane(), piece.rows.d);
    block.sync_warp();
    piece.row = {piece.rows.a[Piece::kDepth - 1], T(1), piece.rows.c[Piece::kDepth - 1],
                 piece.rows.d[Piece::kDepth - 1]};
    piece.outer = aside.outer[block.lane() < Piece::kWarps ? block.lane() : 0];
    piece.rows.pivots = waiting;
  }

  static WARPLOOM_DEVICE void put_record(T* records, int part, const Row<T>& row, const Front<T>& front) {
    const T rows[4] = {row.a, row.b, row.c, row.d};
    const T fronts[3] = {front.b, front.c, front.d};
    WARPLOOM_UNROLL
    for (int v = 0; v < 4; ++v) records[v * kMaxInterfaceRows + part] = rows[v];
    if (part == 0) return;
    // The front completes the row before it: it stands at that row's place.
    WARPLOOM_UNROLL
    for (int v = 0; v < 3; ++v) records[(4 + v) * kMaxInterfaceRows + part - 1] = fronts[v];
  }

  /// The grid's exchange: every block learns its last unknown and the one before its first row.
  /// Warps other than the first run `meanwhile` while that one solves.
  template <class Meanwhile>
  static WARPLOOM_DEVICE Exchange exchange_rows(const device::Block& block, const Parameters& p, const Place& here,
                                                const T* records, Exchange* exchange, Meanwhile meanwhile) {
    block.sync_grid(p.barrier);
    if (block.warp() == 0) {
      solve_interface(block, p.blocks_per_system, records, here.part, exchange);
    } else {
      meanwhile();
      if (block.thread() == 32 && here.part == 0 && here.problem >= p.slots) {
        // The barrier has seen every report on this slot's problem before.
        const int64_t before = here.problem - p.slots;
        store_verdict(p.batch, before, device::atomic_min(&p.verdicts[before], 0));
      }
    }
    block.sync();
    return *exchange;
  }

  /// The last problem of a slot has no barrier after it: its last block to finish writes its words.
  static WARPLOOM_DEVICE void report_last(const device::Block& block, const Parameters& p, const Place& place) {
    block.sync();
    if (block.thread() != 0) return;
    const int64_t slot = block.index() / p.blocks_per_system;
    const int64_t problem = place.present ? place.problem : place.problem - p.slots;
    // Without a problem in the last phase, its barrier has seen every report on the slot's last one.
    if (!place.present) {
      if (place.part == 0 && problem >= 0) {
        store_verdict(p.batch, problem, device::atomic_min(&p.verdicts[problem], 0));
      }
      return;
    }
    device::fence_device();
    if (device::atomic_add(&p.finished[slot], 1) != p.blocks_per_system - 1) return;
    device::fence_device();
    store_verdict(p.batch, problem, device::atomic_min(&p.verdicts[problem], 0));
  }

  /// One warp solves the rows between blocks; lane l holds rows l*kInterfaceDepth….
  static WARPLOOM_DEVICE void solve_interface(const device::Block& block, int count, const T* records, int part,
                                              Exchange* exchange) {
    constexpr int kRows = kInterfaceDepth;
    using Small = RegpackLane<T, kRows>;
    using Words = device::Pack<T>;
    constexpr int kPacks = kRows / Words::kCount;
    static_assert(kPacks > 0, "whole vectors");
    typename Small::Rows rows;
    WARPLOOM_UNROLL
    for (int k = 0; k < kPacks; ++k) {
      Words value[7];
      WARPLOOM_UNROLL
      for (int v = 0; v < 7; ++v) {
        value[v] = reinterpret_cast<const Words*>(records + v * kMaxInterfaceRows)[block.lane() * kPacks + k];
      }
      WARPLOOM_UNROLL
      for (int i = 0; i < Words::kCount; ++i) {
        const int j = k * Words::kCount + i, at = block.lane() * kRows + j;
        Row<T> row{value[0].item[i], value[1].item[i], value[2].item[i], value[3].item[i]};
        if (at + 1 < count) absorb_front(row, Front<T>{value[4].item[i], value[5].item[i], value[6].item[i]});
        rows.a[j] = at > 0 && at < count ? row.a : T(0);
        rows.b[j] = at < count ? row.b : T(1);
        rows.c[j] = at + 1 < count ? row.c : T(0);
        rows.d[j] = at < count ? row.d : T(0);
      }
    }
    Downsweep<kRows>::down(rows);
    Row<T> row;
    Front<T> front;
    Small::template eliminate<false>(block, rows, row, front, 32);
    T x = row.d;
    if (block.lane() == 31) x = row.d * rows.pivots.reciprocal(row.b, kRows - 1);
    Small::descend(block, rows, row, x, T(0), 32);
    WARPLOOM_UNROLL
    for (int j = 0; j < kRows; ++j) {
      const int k = block.lane() * kRows + j;
      if (k == part) {
        exchange->last = rows.d[j];
        exchange->pivot = (rows.pivots.zero >> j & 1u) != 0 ? 1 : rows.pivots.infinite ? 2 : 0;
      }
      if (k + 1 == part) exchange->before = rows.d[j];
    }
    if (block.lane() == 0 && part == 0) exchange->before = T(0);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
