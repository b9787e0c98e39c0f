// Partition method in one pass: a cooperative launch holds whole systems on chip, one chunk per block, and reads the
// bands once. While the blocks' messages about one system are in flight, the next system is reduced. Its rows are in
// registers, the eliminated rows of the previous system wait in shared memory, and the copies of the following system
// are in progress.
#pragma once
#include "cuda/tridiagonal/partition/one_pass_chunk.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// kRows = 1: up to 32 blocks per system. Their messages are few and arrive early, so the copies of the next system
/// start at once, and a phase begins with the rows between the blocks of the previous phase. More blocks wait for the
/// slowest among them, and copies in flight delay their messages. So with kRows > 1 there is a single phase, with no
/// more problems than slots. OnePassPairAgent solves more problems with half the blocks.
template <class T, int kRows>
struct OnePassAgent {
  static constexpr int kMaxThreads = kChunkThreads<T>;
  static constexpr int kMinBlocks = 1;
  static constexpr int kChunks = 1;  ///< per block
  static constexpr int kLeastWarps = 2;
  using Parameters = OnePassParameters<T>;
  using Exchange = BlockExchange<T, 2, kRows>;
  using Piece = OnePassChunk<T>;
  using Warp = typename Piece::Warp;
  using Outer = typename Piece::Outer;
  static constexpr int kDepth = Piece::kDepth;
  static constexpr int kAnnouncingWarp = 0, kListeningWarp = 1;
  static constexpr bool kManyPhases = kRows == 1;

  /// What the warps of a block exchange; two copies, by parity of the phase, where data must outlive the next phase.
  class Shared {
   public:
    WARPLOOM_DEVICE explicit Shared(const device::Block& block)
        : warps_(Piece::warps(block)), records_(block.shared<WarpRecord<T>>(warps_ * Piece::kWarpBytes)) {}
    WARPLOOM_DEVICE WarpRecord<T>* records(int64_t phase) const { return records_ + (phase & 1) * warps_; }
    WARPLOOM_DEVICE Outer* outer(int64_t phase) const {
      return reinterpret_cast<Outer*>(records_ + 2 * warps_) + (phase & 1) * warps_;
    }
    WARPLOOM_DEVICE Surroundings<T>* around(int64_t phase) const {
      Outer* end = reinterpret_cast<Outer*>(records_ + 2 * warps_) + 2 * warps_;
      return reinterpret_cast<Surroundings<T>*>(end) + (phase & 1);
    }
    WARPLOOM_DEVICE int& verdict(int64_t phase) const { return reinterpret_cast<int*>(around(0) + 2)[phase & 1]; }

   private:
    int warps_;
    WarpRecord<T>* records_;
  };
  static constexpr size_t shared_bytes(int threads) {
    return static_cast<size_t>(threads / 32) * (Piece::kWarpBytes + 2 * sizeof(WarpRecord<T>) + 2 * sizeof(Outer)) +
           2 * sizeof(Surroundings<T>) + 2 * sizeof(int);
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const Warp warp(block.shared<T>(block.warp() * Piece::kWarpBytes));
    const Shared shared(block);
    const Place place(block, p);
    Exchange exchange{p, place};
    if (block.warp() <= kListeningWarp) exchange.begin(block);
    if (block.thread() < 2) shared.verdict(block.thread()) = 0;
    Piece piece;
    Pivots waiting;
    copy(block, p, warp, place, 0);
    const int64_t count = phases(place);
    for (int64_t phase = 0; phase <= count; ++phase) {
      const bool here = phase < count, listens = phase > 0 && block.warp() == kListeningWarp;
      if (kManyPhases && listens) {
        exchange.solve(block, phase - 1, shared.around(phase - 1));
        piece.bring_back(block, warp, waiting);  // solving overwrote the registers
      }
      if (here) {
        piece.take(block, p.batch, p.inputs, warp, run_of(block, p, place, phase));
        if (kManyPhases) copy(block, p, warp, place, phase + 1);
        piece.reduce(block, shared.records(phase));
      }
      block.sync();
      if (here && block.warp() == kAnnouncingWarp) announce(block, exchange, phase, piece, shared);
      if constexpr (!kManyPhases) {
        if (listens) piece.listen(block, exchange, warp, phase - 1, shared.around(phase - 1));
        block.sync();
      }
      if (phase > 0) {
        fill_in(block, p, warp, place, phase - 1, piece, waiting, shared);
      } else if (count > 1 || (kManyPhases && block.warp() == kListeningWarp)) {
        piece.put_aside(block, warp);
        waiting = piece.rows.pivots;
      }
    }
    block.sync();
    if (block.thread() == 0) exchange.finish(block, shared.verdict(count), shared.verdict(count - 1));
  }

 private:
  static WARPLOOM_DEVICE int64_t phases(const Place& place) { return kManyPhases ? place.phases : 1; }
  static WARPLOOM_DEVICE Run run_of(const device::Block& block, const Parameters& p, const Place& place, int64_t phase) {
    return Piece::run_of(block, p.batch, place.problem(phase), place.part);
  }

  /// Starts the copies of a phase, if there is one.
  static WARPLOOM_DEVICE void copy(const device::Block& block, const Parameters& p, const Warp& warp,
                                   const Place& place, int64_t phase) {
    if (phase < phases(place)) Piece::load(block, p.inputs, warp, run_of(block, p, place, phase), 0, 4);
  }

  /// Reduces the block's rows to one and posts it to the other blocks, with the verdict that is complete by now.
  static WARPLOOM_DEVICE void announce(const device::Block& block, const Exchange& exchange, int64_t phase,
                                       Piece& piece, const Shared& shared) {
    piece.compose(block, shared.records(phase), shared.outer(phase));
    if (block.lane() == Piece::warps(block) - 1) {
      exchange.post(block, phase, {piece.outer, piece.front}, shared.verdict(phase));
      shared.verdict(phase) = 0;
    }
  }

  /// Computes the unknowns of `phase`. If another phase follows, `piece` holds its rows, which then wait.
  static WARPLOOM_DEVICE void fill_in(const device::Block& block, const Parameters& p, const Warp& warp,
                                      const Place& place, int64_t phase, Piece& piece, Pivots& waiting,
                                      const Shared& shared) {
    const bool more = phase + 1 < phases(place);
    T kept[kDepth];
    if (more) {
      piece.swap(block, warp, waiting, kept);
    } else if (phases(place) > 1) {
      piece.bring_back(block, warp, waiting);
    }
    const Surroundings<T>& around = *shared.around(phase);
    piece.fill_in(block, shared.outer(phase), around.last, around.flags, around.before);
    const Run run = run_of(block, p, place, phase);
    piece.judge(p.batch, run, &shared.verdict(phase));
    warp.store(block, p.batch, run, run, piece.rows);
    if (more) piece.put_aside_kept(block, warp, kept);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
