// Register-packed scan (Davidson & Owens 2011, section 3, Fig. 2b): each thread holds kDepth consecutive elements and
// runs the first stages of the downsweep in registers. Lane totals are then combined by shuffles, warp totals through
// shared memory.
#pragma once
#include "cuda/core/downsweep.cuh"
#include "cuda/core/stage.cuh"
#include "cuda/scan/prefix_task.cuh"

namespace warploom::WARPLOOM_TARGET::scan {

/// Items for Downsweep: partial results and, when segmented, whether a segment starts inside each part.
template <class T, int kDepth, bool kSegmented, Operator kOp>
struct PrefixItems {
  T value[kDepth];
  unsigned int flags = 0;  ///< bit i: a segment starts among the elements that value[i] covers
  T outside;               ///< result of everything before this lane

  WARPLOOM_DEVICE bool flagged(int i) const { return kSegmented && (flags >> i & 1u) != 0; }
  WARPLOOM_DEVICE void take(int i, T left) {
    const T joined = combine<kOp>(left, value[i]);
    value[i] = flagged(i) ? value[i] : joined;
  }
  WARPLOOM_DEVICE void join(int i, int left) {
    take(i, value[left]);
    if (kSegmented) flags |= (flags >> left & 1u) << i;
  }
  /// Radix 4: running results of a run that leaves the sweep together.
  template <int kCount>
  WARPLOOM_DEVICE void eliminate(int first, int stride) {
    WARPLOOM_UNROLL
    for (int c = 1; c < kCount; ++c) join(first + c * stride, first + (c - 1) * stride);
  }
  // A scan communicates one way: nothing to prepare, and nothing goes to the previous lane.
  template <int kCount, int kStride>
  WARPLOOM_DEVICE void prepare() {}
  template <int kCount>
  WARPLOOM_DEVICE void save(int, int) {}
  WARPLOOM_DEVICE void update(int kept, int left, int) { join(kept, left); }
  template <int kCount>
  WARPLOOM_DEVICE void substitute(int first, int stride, int left, int) {
    WARPLOOM_UNROLL
    for (int c = 0; c < kCount; ++c) take(first + c * stride, left == kOutside ? outside : value[left < 0 ? 0 : left]);
  }

  /// Converts inclusive results to exclusive ones; `heads`: the elements that start a segment.
  WARPLOOM_DEVICE void shift(unsigned int heads) {
    T previous = outside;
    WARPLOOM_UNROLL
    for (int k = 0; k < kDepth; ++k) {
      const T next = value[k];
      const bool head = kSegmented && (heads >> k & 1u) != 0;
      value[k] = exclusive_value(kOp, head ? neutral<T>(kOp) : previous);
      previous = next;
    }
  }
};

/// Result and segment mark of several elements.
template <class T>
struct Part {
  T value;
  int flag;
};

template <Operator kOp, class T>
WARPLOOM_DEVICE Part<T> joined(const Part<T>& a, const Part<T>& b) {
  return {b.flag != 0 ? b.value : combine<kOp>(a.value, b.value), a.flag | b.flag};
}

template <bool kSegmented, class T>
WARPLOOM_DEVICE Part<T> from_below(const device::Block& block, const Part<T>& part, int distance, int width) {
  return {device::shuffle_up(block, part.value, distance, width),
          kSegmented ? device::shuffle_up(block, part.flag, distance, width) : 0};
}

/// Inclusive scan over groups of `width` lanes.
template <Operator kOp, bool kSegmented, class T>
WARPLOOM_DEVICE Part<T> scan_lanes(const device::Block& block, Part<T> part, int width) {
  const int lane = block.lane() & (width - 1);
  for (int distance = 1; distance < width; distance *= 2) {
    const Part<T> left = from_below<kSegmented>(block, part, distance, width);
    if (lane >= distance) part = joined<kOp>(left, part);
  }
  return part;
}

/// The elements of one thread, in a block whose rows need not fill their threads: `begin` … `last`-1 of the span.
struct Share {
  int begin, last;
};

template <class T, int kDepth, int kRadix, bool kSegmented>
struct RegpackAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr int kMinBlocks = sizeof(T) * kDepth <= 32 ? 4 : sizeof(T) * kDepth <= 64 ? 3 : sizeof(T) * kDepth <= 128 ? 2 : 1;
  using Parameters = Task<T>;
  using Lanes = Stage<T, kDepth>;
  static constexpr size_t kTotalsBytes = sizeof(Part<T>) * 32;
  static constexpr size_t kItemsBytes = sizeof(T) * kMaxThreads * (kDepth + 1);

  static size_t shared_bytes() { return kTotalsBytes + kItemsBytes + (kSegmented ? size_t{kMaxThreads} * kDepth : 0); }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    switch (p.op) {
      case Operator::sum: return Scan<Operator::sum>::run(block, p);
      case Operator::product: return Scan<Operator::product>::run(block, p);
      default: return Scan<Operator::max>::run(block, p);
    }
  }

 private:
  /// One word of padding per thread keeps the threads of a warp in different banks.
  static WARPLOOM_DEVICE int place(int i) { return i + i / kDepth; }
  static WARPLOOM_DEVICE T* items(const device::Block& block) { return block.shared<T>(kTotalsBytes); }
  static WARPLOOM_DEVICE uint8_t* marks(const device::Block& block) {
    return block.shared<uint8_t>(kTotalsBytes + kItemsBytes);
  }
  struct alignas(kDepth < 16 ? kDepth : 16) Marks {
    uint8_t mark[kDepth];
  };

  static WARPLOOM_DEVICE Share share_of(const device::Block& block, const Parameters& p, const Span& span) {
    const int in_row = block.thread() & ((1 << p.row_shift) - 1);
    const int row = block.thread() >> p.row_shift;
    if (p.tiles != 1) return {in_row * kDepth, span.count};
    const int end = (row + 1) * static_cast<int>(p.n);
    return {row * static_cast<int>(p.n) + in_row * kDepth, end < span.count ? end : span.count};
  }

  template <Operator kOp>
  struct Scan {
    using Items = PrefixItems<T, kDepth, kSegmented, kOp>;

    static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
      // Last tile first, because the preceding reduction left the end of the row in the L2 cache.
      const Span span = span_of(p, block.count() - 1 - block.index(), block.threads());
      if constexpr (Lanes::kLaneChunks > 0) {
        if (p.full && span.count == block.threads() * kDepth) {
          Items mine;
          take_whole(block, p, span, mine);
          solve(block, p, span, mine);
          return give_whole(block, p, span, mine);
        }
      }
      const Share share = share_of(block, p, span);
      Items mine;
      take(block, p, span, share, mine);
      solve(block, p, span, mine);
      give(block, p, span, share, mine);
    }

    /// Every warp loads what its own lanes need, in whole chunks, so no block barrier is needed.
    static WARPLOOM_DEVICE void take_whole(const device::Block& block, const Parameters& p, const Span& span, Items& mine) {
      T* const stage = items(block) + block.warp() * Lanes::kElements;
      const T* const from = p.values + span.begin + block.warp() * Lanes::kElements;
      WARPLOOM_UNROLL
      for (int turn = 0; turn < Lanes::kLaneChunks; ++turn) {
        const int chunk = turn * 32 + block.lane();
        device::async_copy<16>(block, stage + Lanes::place_chunk(chunk) * Lanes::kPerChunk, from + chunk * Lanes::kPerChunk);
      }
      device::async_commit(block);
      if (kSegmented) {
        const Marks found = reinterpret_cast<const Marks*>(p.flags + span.begin)[block.thread()];
        WARPLOOM_UNROLL
        for (int k = 0; k < kDepth; ++k) mine.flags |= found.mark[k] != 0 ? 1u << k : 0u;
      }
      device::async_wait<0>(block);
      block.sync_warp();
      Lanes::read(stage, block.lane(), mine.value);
    }
    static WARPLOOM_DEVICE void give_whole(const device::Block& block, const Parameters& p, const Span& span, const Items& mine) {
      T* const stage = items(block) + block.warp() * Lanes::kElements;
      block.sync_warp();
      Lanes::write(stage, block.lane(), mine.value);
      block.sync_warp();
      auto* const to = reinterpret_cast<device::Pack<T>*>(p.result + span.begin + block.warp() * Lanes::kElements);
      const auto* const from = reinterpret_cast<const device::Pack<T>*>(stage);
      WARPLOOM_UNROLL
      for (int turn = 0; turn < Lanes::kLaneChunks; ++turn) {
        const int chunk = turn * 32 + block.lane();
        to[chunk] = from[Lanes::place_chunk(chunk)];
      }
    }

    static WARPLOOM_DEVICE void take(const device::Block& block, const Parameters& p, const Span& span,
                                     const Share& share, Items& mine) {
      const T* const values = p.values + span.begin;
      const uint8_t* const flags = p.flags + (kSegmented ? span.begin : 0);
      WARPLOOM_UNROLL
      for (int k = 0; k < kDepth; ++k) {
        const int i = k * block.threads() + block.thread();
        if (i < span.count) {
          items(block)[place(i)] = values[i];
          if (kSegmented) marks(block)[i] = flags[i];
        }
      }
      block.sync();
      WARPLOOM_UNROLL
      for (int k = 0; k < kDepth; ++k) {
        const bool inside = share.begin + k < share.last;
        mine.value[k] = inside ? items(block)[place(share.begin + k)] : neutral<T>(kOp);
        if (kSegmented && inside && marks(block)[share.begin + k] != 0) mine.flags |= 1u << k;
      }
    }
    static WARPLOOM_DEVICE void give(const device::Block& block, const Parameters& p, const Span& span,
                                     const Share& share, const Items& mine) {
      WARPLOOM_UNROLL
      for (int k = 0; k < kDepth; ++k) {
        if (share.begin + k < share.last) items(block)[place(share.begin + k)] = mine.value[k];
      }
      block.sync();
      T* const result = p.result + span.begin;
      WARPLOOM_UNROLL
      for (int k = 0; k < kDepth; ++k) {
        const int i = k * block.threads() + block.thread();
        if (i < span.count) result[i] = items(block)[place(i)];
      }
    }

    static WARPLOOM_DEVICE void solve(const device::Block& block, const Parameters& p, const Span& span, Items& mine) {
      const unsigned int heads = mine.flags;
      Downsweep<kDepth, kRadix>::down(mine);
      const Part<T> total = {mine.value[kDepth - 1], static_cast<int>(mine.flags >> (kDepth - 1) & 1u)};
      mine.outside = before(block, p, span, total);
      mine.take(kDepth - 1, mine.outside);
      Downsweep<kDepth, kRadix>::up(mine);
      if (p.exclusive) mine.shift(heads);
    }

    /// Result of everything in the row before this lane. Uses a barrier when rows have several warps.
    static WARPLOOM_DEVICE T before(const device::Block& block, const Parameters& p, const Span& span, const Part<T>& total) {
      const int width = p.row_shift < 5 ? 1 << p.row_shift : 32;
      const Part<T> lanes = scan_lanes<kOp, kSegmented>(block, total, width);
      Part<T> left = from_below<kSegmented>(block, lanes, 1, width);
      if ((block.lane() & (width - 1)) == 0) left = {neutral<T>(kOp), 0};
      if (p.row_shift > 5) {
        Part<T>* const totals = block.shared<Part<T>>();
        if (block.lane() == 31) totals[block.warp()] = lanes;
        block.sync();
        const int warps = 1 << (p.row_shift - 5);
        const int own = block.warp() & (warps - 1);
        const Part<T> warp = scan_lanes<kOp, kSegmented>(block, totals[block.warp() - own + (block.lane() & (warps - 1))], warps);
        const int previous = own > 0 ? own - 1 : 0;
        const Part<T> earlier = {device::shuffle(block, warp.value, previous, warps),
                                 kSegmented ? device::shuffle(block, warp.flag, previous, warps) : 0};
        if (own > 0) left = joined<kOp>(earlier, left);
      }
      if (p.carry != nullptr && !span.first) left = joined<kOp>(Part<T>{p.carry[span.block - 1], 0}, left);
      return left.value;
    }
  };
};

}  // namespace warploom::WARPLOOM_TARGET::scan
