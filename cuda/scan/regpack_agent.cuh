// Register-packed scan (Davidson & Owens 2011, section 3, Fig. 2b): each thread holds kDepth consecutive elements
// and runs the downsweep's first stages in registers; lane totals go on by shuffles, warp totals through shared memory.
#pragma once
#include "cuda/core/downsweep.cuh"
#include "cuda/scan/prefix_task.cuh"

namespace warploom::WARPLOOM_TARGET::scan {

/// Items of Downsweep: partial results and, when segmented, whether a segment starts inside the part.
template <class T, int kDepth, bool kSegmented>
struct PrefixItems {
  T value[kDepth];
  unsigned int flags = 0;  ///< bit i: a segment starts among the elements value[i] stands for
  T outside;               ///< result of everything before this lane
  Operator op;

  WARPLOOM_DEVICE bool flagged(int i) const { return kSegmented && (flags >> i & 1u) != 0; }
  WARPLOOM_DEVICE void take(int i, T left) {
    const T joined = combine(op, left, value[i]);
    value[i] = flagged(i) ? value[i] : joined;
  }
  WARPLOOM_DEVICE void join(int i, int left) {
    take(i, value[left]);
    if (kSegmented) flags |= (flags >> left & 1u) << i;
  }
  /// Radix 4: running results of the run that leaves the sweep together.
  template <int kCount>
  WARPLOOM_DEVICE void eliminate(int first, int stride) {
    WARPLOOM_UNROLL
    for (int c = 1; c < kCount; ++c) join(first + c * stride, first + (c - 1) * stride);
  }
  // A scan communicates one way: nothing to prepare, nothing goes to the lane before.
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
};

/// Result and segment mark of several elements.
template <class T>
struct Part {
  T value;
  int flag;
};

template <class T>
WARPLOOM_DEVICE Part<T> joined(Operator op, const Part<T>& a, const Part<T>& b) {
  return {b.flag != 0 ? b.value : combine(op, a.value, b.value), a.flag | b.flag};
}

/// Inclusive scan over groups of `width` lanes.
template <class T>
WARPLOOM_DEVICE Part<T> scan_lanes(const device::Block& block, Operator op, Part<T> part, int width) {
  const int lane = block.lane() & (width - 1);
  for (int distance = 1; distance < width; distance *= 2) {
    const Part<T> left = {device::shuffle_up(block, part.value, distance, width),
                          device::shuffle_up(block, part.flag, distance, width)};
    if (lane >= distance) part = joined(op, left, part);
  }
  return part;
}

template <class T, int kDepth, int kRadix, bool kSegmented>
struct RegpackAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr int kMinBlocks = sizeof(T) * kDepth <= 64 ? 4 : sizeof(T) * kDepth <= 128 ? 3 : 2;
  using Parameters = Task<T>;
  using Items = PrefixItems<T, kDepth, kSegmented>;

  /// One word of padding per thread keeps the threads of a warp in different banks.
  static WARPLOOM_DEVICE int place(int i) { return i + i / kDepth; }
  static size_t shared_bytes() {
    const size_t flags = kSegmented ? size_t{kMaxThreads} * kDepth : 0;
    return sizeof(Part<T>) * 32 + sizeof(T) * kMaxThreads * (kDepth + 1) + flags;
  }

  /// Result of everything in the row before this lane; a barrier when rows have several warps.
  static WARPLOOM_DEVICE T before(const device::Block& block, const Parameters& p, const Span& span, Part<T> total) {
    const int width = p.threads_per_row < 32 ? p.threads_per_row : 32;
    const Part<T> none = {neutral<T>(p.op), 0};
    const Part<T> lanes = scan_lanes(block, p.op, total, width);
    Part<T> left = {device::shuffle_up(block, lanes.value, 1, width), device::shuffle_up(block, lanes.flag, 1, width)};
    if ((block.lane() & (width - 1)) == 0) left = none;
    if (p.threads_per_row > 32) {
      Part<T>* totals = block.shared<Part<T>>();
      if (block.lane() == 31) totals[block.warp()] = lanes;
      block.sync();
      const int warps = p.threads_per_row / 32;
      const int own = block.warp() & (warps - 1);
      Part<T> warp = totals[block.warp() - own + (block.lane() & (warps - 1))];
      warp = scan_lanes(block, p.op, warp, warps);
      const int previous = own > 0 ? own - 1 : 0;
      const Part<T> earlier = {device::shuffle(block, warp.value, previous, warps),
                               device::shuffle(block, warp.flag, previous, warps)};
      if (own > 0) left = joined(p.op, earlier, left);
    }
    if (p.carry != nullptr && !span.first) {
      left = joined(p.op, Part<T>{p.carry[span.block - 1], 0}, left);
    }
    return left.value;
  }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    // Last tile first: the reduction before this launch left the row's end in the L2 cache.
    const Span span = span_of(p, block.count() - 1 - block.index(), block.threads());
    T* const items = block.shared<T>(sizeof(Part<T>) * 32);
    uint8_t* const marks = block.shared<uint8_t>(sizeof(Part<T>) * 32 + sizeof(T) * kMaxThreads * (kDepth + 1));
    const int thread = block.thread(), threads = block.threads();
    WARPLOOM_UNROLL
    for (int k = 0; k < kDepth; ++k) {
      const int i = k * threads + thread;
      if (i < span.count) {
        items[place(i)] = p.values[span.begin + i];
        if (kSegmented) marks[i] = p.flags[span.begin + i];
      }
    }
    block.sync();

    // This thread's elements: begin … end-1 of the span.
    const int in_row = thread & (p.threads_per_row - 1);
    const int row = thread / p.threads_per_row;
    const int64_t row_end = p.tiles == 1 ? (row + 1) * p.n : span.count;
    const int64_t origin = p.tiles == 1 ? row * p.n : 0;
    const int64_t last = row_end < span.count ? row_end : span.count;
    const int64_t begin = origin + static_cast<int64_t>(in_row) * kDepth;
    Items mine;
    mine.op = p.op;
    WARPLOOM_UNROLL
    for (int k = 0; k < kDepth; ++k) {
      const bool inside = begin + k < last;
      mine.value[k] = inside ? items[place(static_cast<int>(begin) + k)] : neutral<T>(p.op);
      if (kSegmented && inside && marks[begin + k] != 0) mine.flags |= 1u << k;
    }
    const unsigned int heads = mine.flags;
    Downsweep<kDepth, kRadix>::down(mine);
    const Part<T> total = {mine.value[kDepth - 1], static_cast<int>(mine.flags >> (kDepth - 1) & 1u)};
    mine.outside = before(block, p, span, total);
    mine.take(kDepth - 1, mine.outside);
    Downsweep<kDepth, kRadix>::up(mine);

    T previous = mine.outside;
    WARPLOOM_UNROLL
    for (int k = 0; k < kDepth; ++k) {
      T value = mine.value[k];
      if (p.exclusive) {
        const bool head = kSegmented && (heads >> k & 1u) != 0;
        value = exclusive_value(p.op, head ? neutral<T>(p.op) : previous);
        previous = mine.value[k];
      }
      if (begin + k < last) items[place(static_cast<int>(begin) + k)] = value;
    }
    block.sync();
    WARPLOOM_UNROLL
    for (int k = 0; k < kDepth; ++k) {
      const int i = k * threads + thread;
      if (i < span.count) p.result[span.begin + i] = items[place(i)];
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::scan
