// Partition method in one pass with two chunks per block, for systems that fill the chip. The first chunk's eliminated
// rows wait in shared memory while the second is reduced. The copies of every chunk run while the previous one is
// processed.
#pragma once
#include "cuda/tridiagonal/partition/one_pass_chunk.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// kRows: rows per lane of the system between blocks.
template <class T, int kRows>
struct OnePassPairAgent {
  static constexpr int kMaxThreads = kChunkThreads<T>;
  static constexpr int kMinBlocks = 1;
  static constexpr int kChunks = 2;  ///< per block
  static constexpr bool kManyPhases = true;
  static constexpr int kLeastWarps = kMaxThreads / 32;
  using Parameters = OnePassParameters<T>;
  using Exchange = BlockExchange<T, 1, kRows, kInterfaceDepth<T> / 2>;
  using Piece = OnePassChunk<T>;
  using Warp = typename Piece::Warp;
  using Outer = typename Piece::Outer;
  static constexpr int kAnnouncingWarp = 0, kListeningWarp = 1;

  /// What the warps of a block exchange.
  struct Shared {
    WarpRecord<T> records[2][Piece::kWarps];
    Outer outer[2][Piece::kWarps];
    ChunkRecord<T> first;    ///< of the first chunk
    Outer middle;            ///< the first chunk's last row
    Surroundings<T> around;
    int verdict;
  };
  static constexpr size_t shared_bytes(int) { return Piece::kWarps * Piece::kWarpBytes + sizeof(Shared); }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const Warp warp(block.shared<T>(block.warp() * Piece::kWarpBytes));
    Shared& shared = *block.shared<Shared>(Piece::kWarps * Piece::kWarpBytes);
    const Place place(block, p);
    Exchange exchange{p, place};
    if (block.warp() <= kListeningWarp) exchange.begin(block);
    if (block.thread() == 0) shared.verdict = 0;
    Piece piece;
    Pivots waiting;
    // Two steps per phase, one for each chunk.
    copy(block, p, warp, place, 0, 0, 4);
    for (int64_t step = 0; step < 2 * place.phases; ++step) {
      const int64_t phase = step >> 1;
      const int chunk = static_cast<int>(step & 1);
      piece.take(block, p.batch, p.inputs, warp, run_of(block, p, place, step));
      copy(block, p, warp, place, step + 1, 0, chunk == 0 ? 4 : Piece::kEarlyArrays);
      piece.reduce(block, shared.records[chunk]);
      block.sync();
      if (block.warp() == kAnnouncingWarp) announce(block, exchange, phase, chunk, piece, shared);
      if (chunk == 0) {
        piece.put_aside(block, warp);
        waiting = piece.rows.pivots;
        continue;
      }
      if (block.warp() == kListeningWarp) piece.listen(block, exchange, warp, phase, &shared.around);
      block.sync();
      copy(block, p, warp, place, step + 1, Piece::kEarlyArrays, 4);
      fill_in(block, p, warp, place, step, piece, waiting, shared);
    }
    block.sync();
    if (block.thread() == 0) exchange.finish(block, 0, shared.verdict);
  }

 private:
  static WARPLOOM_DEVICE Run run_of(const device::Block& block, const Parameters& p, const Place& place, int64_t step) {
    return Piece::run_of(block, p.batch, place.problem(step >> 1), int64_t{place.part} * 2 + (step & 1));
  }

  /// Starts the copies of some arrays of a step, if there is one.
  static WARPLOOM_DEVICE void copy(const device::Block& block, const Parameters& p, const Warp& warp,
                                   const Place& place, int64_t step, int first, int last) {
    if (step < 2 * place.phases) Piece::load(block, p.inputs, warp, run_of(block, p, place, step), first, last);
  }

  /// Reduces a chunk to one row. After the second chunk, joins both and posts the result to the other blocks, with the
  /// verdict on the previous problem.
  static WARPLOOM_DEVICE void announce(const device::Block& block, const Exchange& exchange, int64_t phase, int chunk,
                                       Piece& piece, Shared& shared) {
    piece.compose(block, shared.records[chunk], shared.outer[chunk]);
    if (block.lane() != Piece::kWarps - 1) return;
    if (chunk == 0) {
      shared.first = {piece.outer, piece.front};
      return;
    }
    // Eliminates the first chunk's last row, between the two chunks.
    Row<T> middle = shared.first.row;
    absorb_front(middle, piece.front);
    Pivots pivots;
    const T r = pivots.reciprocal(middle.b, 0);
    const Equation<T> between{middle.a * r, middle.c * r, middle.d * r};
    shared.middle = {between, Piece::flags_of(pivots)};
    exchange.post(block, phase, joined(piece.outer, shared.first.front, between), shared.verdict);
    shared.verdict = 0;
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

  /// Computes the unknowns of the second chunk, which `piece` holds, then those of the first.
  static WARPLOOM_DEVICE void fill_in(const device::Block& block, const Parameters& p, const Warp& warp,
                                      const Place& place, int64_t step, Piece& piece, const Pivots& waiting,
                                      Shared& shared) {
    const Surroundings<T>& around = shared.around;
    const Equation<T> between = shared.middle.row;
    const T x_middle = device::fma(-between.a, around.before, device::fma(-between.c, around.last, between.d));
    piece.fill_in(block, shared.outer[1], around.last, around.flags, x_middle);
    const Run second = run_of(block, p, place, step), first = run_of(block, p, place, step - 1);
    piece.judge(p.batch, second, &shared.verdict);
    Piece back;
    back.bring_back(block, warp, waiting);  // this frees the place of a for the solution
    warp.store(block, p.batch, second, second, piece.rows);
    back.fill_in(block, shared.outer[0], x_middle, shared.middle.flags, around.before);
    back.judge(p.batch, first, &shared.verdict);
    block.sync_warp();
    warp.store(block, p.batch, first, first, back.rows);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
