// Totals of the tiles of long rows: one value per tile, and whether a segment starts in it.
#pragma once
#include "cuda/scan/prefix_task.cuh"

namespace warploom::WARPLOOM_TARGET::scan {

#include "cuda/scan/reduce_layout.inc"

template <class T>
struct ReduceTask {
  Task<T> task;
  T* totals = nullptr;       ///< rows * tiles
  uint8_t* marks = nullptr;  ///< likewise, only with flags
};

/// Reads a tile once, in strides of the block, so that memory is read in order. Only elements from the tile's last
/// segment start on are counted; the flags are searched for it first.
template <class T>
struct ReduceAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr int kMinBlocks = 4;
  static constexpr int kUnroll = 4;
  using Parameters = ReduceTask<T>;
  using Layout = ReduceLayout<sizeof(T)>;
  static_assert(sizeof(int) == 4, "the layout counts with it");

  static size_t shared_bytes() { return Layout::kBytes; }

  /// Position of the last flag in the span; -1 if there is none.
  static WARPLOOM_DEVICE int last_flag(const device::Block& block, const Parameters& p, const Span& span) {
    int* const found = block.shared<int>(Layout::kFound);
    int last = -1;
    for (int i = block.thread(); i < span.count; i += block.threads()) {
      if (p.task.flags[span.begin + i] != 0) last = i;
    }
    for (int distance = 16; distance > 0; distance /= 2) {
      const int other = device::shuffle_xor(block, last, distance);
      last = other > last ? other : last;
    }
    if (block.lane() == 0) found[block.warp()] = last;
    block.sync();
    for (int warp = 0; warp < block.threads() / 32; ++warp) last = found[warp] > last ? found[warp] : last;
    return last;
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    switch (p.task.op) {
      case Operator::sum: return reduce<Operator::sum>(block, p);
      case Operator::product: return reduce<Operator::product>(block, p);
      default: return reduce<Operator::max>(block, p);
    }
  }

 private:
  using Chunk = device::Pack<T>;

  /// Elements first … of the span; those before `start` and beyond the end are replaced by neutral ones.
  template <Operator kOp>
  static WARPLOOM_DEVICE Chunk piece(const T* values, int first, int start, int count) {
    Chunk chunk;
    WARPLOOM_UNROLL
    for (int k = 0; k < Chunk::kCount; ++k) {
      const int i = first + k;
      chunk.item[k] = i >= start && i < count ? values[i] : neutral<T>(kOp);
    }
    return chunk;
  }

  /// This thread's part of the span. Whole chunks are read at once if possible; the order of the sum is the same.
  template <Operator kOp>
  static WARPLOOM_DEVICE T part_of(const device::Block& block, const Parameters& p, const Span& span, int start) {
    const T* const values = p.task.values + span.begin;
    const bool whole = p.task.full && start < 0 && span.count % Chunk::kCount == 0;
    T part[kUnroll];
    WARPLOOM_UNROLL
    for (int u = 0; u < kUnroll; ++u) part[u] = neutral<T>(kOp);
    for (int base = 0; base < span.count; base += kUnroll * Chunk::kCount * block.threads()) {
      WARPLOOM_UNROLL
      for (int u = 0; u < kUnroll; ++u) {
        const int first = base + (u * block.threads() + block.thread()) * Chunk::kCount;
        if (first >= span.count) continue;
        const Chunk chunk = whole ? *reinterpret_cast<const Chunk*>(values + first)
                                  : piece<kOp>(values, first, start, span.count);
        WARPLOOM_UNROLL
        for (int k = 0; k < Chunk::kCount; ++k) part[u] = combine<kOp>(part[u], chunk.item[k]);
      }
    }
    return combine<kOp>(combine<kOp>(part[0], part[1]), combine<kOp>(part[2], part[3]));
  }

  template <Operator kOp>
  static WARPLOOM_DEVICE void reduce(const device::Block& block, const Parameters& p) {
    const Span span = span_of(p.task, block.index(), block.threads());
    const int start = p.task.flags != nullptr ? last_flag(block, p, span) : -1;
    T total = part_of<kOp>(block, p, span, start);
    for (int distance = 16; distance > 0; distance /= 2) {
      total = combine<kOp>(total, device::shuffle_down(block, total, distance));
    }
    T* const totals = block.shared<T>(Layout::kTotals);
    if (block.lane() == 0) totals[block.warp()] = total;
    block.sync();
    if (block.thread() != 0) return;
    for (int warp = 1; warp < block.threads() / 32; ++warp) total = combine<kOp>(total, totals[warp]);
    p.totals[span.block] = total;
    if (p.task.flags != nullptr) p.marks[span.block] = start >= 0 ? 1 : 0;
  }
};

}  // namespace warploom::WARPLOOM_TARGET::scan
