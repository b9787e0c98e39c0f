// Partition method in two passes over memory, for systems of any size. Every chunk is reduced to one row (ReduceAgent).
// These rows form a smaller system (AssembleAgent), solved by any algorithm that fits. Then every chunk is read again
// and filled in (SubstituteAgent).
#pragma once
#include "cuda/tridiagonal/regpack/chunk.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T>
struct PartitionParameters {
  Batch<T> batch;
  Inputs<T> inputs;
  int64_t chunks;           ///< per problem
  int64_t rows;             ///< per chunk
  ChunkRecord<T>* records;  ///< problems * chunks
  Batch<T> reduced;         ///< problems systems of `chunks` rows, contiguous
  int* verdicts;            ///< one word per problem, zero before SubstituteAgent runs
};

/// Persistent blocks over all chunks of all problems. kSubstitute: the second pass, which starts with what the first
/// pass read last, because the L2 may still hold it.
template <class T, bool kSubstitute>
struct ChunkAgent {
  static constexpr int kMaxThreads = kChunkThreads<T>;
  static constexpr int kMinBlocks = 1;
  using Parameters = PartitionParameters<T>;
  using Piece = Chunk<T>;
  using Warp = typename Piece::Warp;
  static constexpr size_t shared_bytes(int threads) {
    return static_cast<size_t>(threads / 32) * (Warp::kWarpBytes + 2 * sizeof(WarpRecord<T>));
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const Batch<T>& batch = p.batch;
    const Warp warp(block.shared<T>(block.warp() * Warp::kWarpBytes));
    const int warps = Piece::warps(block);
    auto* records = block.shared<WarpRecord<T>>(warps * Warp::kWarpBytes);
    const int64_t items = batch.problems() * p.chunks;
    const auto in_order = [&](int64_t item) { return kSubstitute ? items - 1 - item : item; };
    Run next{};
    int64_t next_item = block.index();
    int parity = 0;
    for (int64_t item = -1;; parity ^= 1) {
      Piece piece;
      const Run run = next;
      if (item >= 0) {
        device::async_wait<0>(block);
        block.sync_warp();
        warp.take(p.inputs, run, block.lane(), batch.rows(run.system), piece.rows);
        block.sync_warp();
      }
      const bool more = next_item < items;
      if (more) {
        const int64_t at = in_order(next_item);
        next = Piece::run_of(block, batch, at / p.chunks, at % p.chunks);
        warp.load(block, p.inputs, next, false);
        device::async_commit(block);
      }
      if (item >= 0) {
        piece.reduce(block, records + parity * warps);
        block.sync();
        Pivots pivots;
        if (kSubstitute || block.warp() == 0) pivots = piece.compose(block, records + parity * warps);
        if constexpr (kSubstitute) {
          piece.note(block, device::shuffle(block, Piece::flags_of(pivots), block.warp()));
        }
        finish(block, p, warp, piece, run, in_order(item));
      }
      if (!more) return;
      item = next_item;
      next_item += block.count();
    }
  }

 private:
  static WARPLOOM_DEVICE void finish(const device::Block& block, const Parameters& p, const Warp& warp,
                                     Piece& piece, const Run& run, int64_t item) {
    if constexpr (kSubstitute) {
      const int64_t chunk = item % p.chunks, problem = item / p.chunks;
      const T* x = p.reduced.solution.data + item;
      piece.substitute(block, x[0], chunk > 0 ? x[-1] : T(0));
      piece.judge(p.batch, run, p.verdicts + problem);
      warp.store(block, p.batch, run, run, piece.rows);
    } else if (block.thread() == Piece::warps(block) - 1) {
      p.records[item] = {piece.outer, piece.front};
    }
  }
};

/// Rows between chunks, one per thread.
template <class T>
struct AssembleAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr int kMinBlocks = 1;
  using Parameters = PartitionParameters<T>;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t items = p.batch.problems() * p.chunks;
    for (int64_t item = block.index() * block.threads() + block.thread(); item < items;
         item += block.count() * block.threads()) {
      const int64_t problem = item / p.chunks, chunk = item % p.chunks;
      const Row<T> row = interface_row(p.records + problem * p.chunks, chunk, p.chunks);
      p.reduced.lower.data[item] = row.a;
      p.reduced.diagonal.data[item] = row.b;
      p.reduced.upper.data[item] = row.c;
      p.reduced.rhs.data[item] = row.d;
    }
  }
};

/// Status words, from the verdicts and from zero pivots in the system between chunks.
template <class T>
struct VerdictAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr int kMinBlocks = 1;
  using Parameters = PartitionParameters<T>;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    for (int64_t q = block.index() * block.threads() + block.thread(); q < p.batch.problems();
         q += block.count() * block.threads()) {
      int verdict = p.verdicts[q];
      const auto between = static_cast<operation::SystemStatus>(p.reduced.status[q]);
      if (between != operation::SystemStatus::ok) {
        // A chunk's last row is checked in the system between chunks. A non-finite value there comes from an entry that
        // some chunk has already found. The exception is an infinite pivot, which leaves a finite solution.
        const int64_t system = q / p.batch.rhs_count, rows = p.batch.rows(system);
        const int64_t end = (int64_t{p.reduced.row[q]} + 1) * p.rows;
        const int64_t row = (end < rows ? end : rows) - 1;
        const T pivot = p.batch.diagonal.load(p.batch.diagonal.index(p.batch.origin(system), row < 0 ? 0 : row, 0));
        const int other = make_verdict(between == operation::SystemStatus::zero_pivot ? Finding::zero_pivot
                                       : device::is_finite(pivot)                     ? Finding::overflow
                                                                                      : Finding::non_finite_input,
                                       row);
        verdict = other < verdict ? other : verdict;
      }
      store_verdict(p.batch, q, verdict);
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
