// Statistics of rows: one block per chunk, then, for rows of several chunks, one block per row.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/swept/measure_part.h"

namespace warploom::WARPLOOM_TARGET::swept {

namespace operation = ::warploom::swept;
using operation::Part;

/// The first thread gets the combined result of all lanes in the block. `warps` has room for one Part per warp.
WARPLOOM_DEVICE Part combine_lanes(const device::Block& block, Part part, Part* warps) {
  WARPLOOM_UNROLL
  for (int level = 0; level < 5; ++level) {
    part = operation::combined(part, device::shuffle_down(block, part, operation::lane_distance(level)));
  }
  const int count = block.threads() / 32;
  if (count == 1) return part;
  if (block.lane() == 0) warps[block.warp()] = part;
  block.sync();
  if (block.thread() != 0) return part;
  for (int distance = 1; distance < count; distance *= 2) {
    for (int warp = 0; warp < count; warp += 2 * distance) warps[warp] = operation::combined(warps[warp], warps[warp + distance]);
  }
  return warps[0];
}

template <class T>
struct MeasureTask {
  const T* state = nullptr;
  int64_t n = 0, chunks = 1;
  Part* parts = nullptr;      ///< rows * chunks, if there are several chunks
  operation::Figures* figures = nullptr;
};

/// A chunk. The block has one warp per four segments, rounded up to a power of two.
template <class T>
struct MeasureChunkAgent {
  static constexpr int kMaxThreads = operation::kLanes;
  static constexpr int kMinBlocks = 4;
  using Parameters = MeasureTask<T>;
  static size_t shared_bytes() { return kMaxThreads / 32 * sizeof(Part); }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t row = block.index() / p.chunks, chunk = block.index() - row * p.chunks;
    const T* const values = p.state + row * p.n;
    const int64_t begin = chunk * operation::kChunk, left = p.n - begin;
    const int64_t first = block.thread() / operation::kSegmentLanes * operation::kSegment + block.thread() % operation::kSegmentLanes;
    Part part = operation::no_points();
    if (left >= operation::kChunk) {
      add_points<true>(part, values + begin + first, left - first);
    } else {
      add_points<false>(part, values + begin + first, left - first);
    }
    part = combine_lanes(block, part, block.shared<Part>());
    if (block.thread() != 0) return;
    if (p.chunks > 1) p.parts[block.index()] = part;
    else p.figures[row] = operation::figures_of(part, values[0], values[p.n - 1]);
  }

 private:
  /// A lane's points; kFull: no point is missing.
  template <bool kFull>
  static WARPLOOM_DEVICE void add_points(Part& part, const T* values, int64_t left) {
    constexpr int kAtOnce = 8, kCount = operation::kSegment / operation::kSegmentLanes;
    WARPLOOM_NO_UNROLL
    for (int base = 0; base < kCount; base += kAtOnce) {
      T value[kAtOnce];
      WARPLOOM_UNROLL
      for (int k = 0; k < kAtOnce; ++k) {
        const int i = (base + k) * operation::kSegmentLanes;
        value[k] = kFull || i < left ? values[i] : T(0);
      }
      WARPLOOM_UNROLL
      for (int k = 0; k < kAtOnce; ++k) {
        if (kFull || (base + k) * operation::kSegmentLanes < left) operation::add_value(part, static_cast<double>(value[k]));
      }
    }
  }
};

/// A row from the parts of its chunks.
template <class T>
struct MeasureRowAgent {
  static constexpr int kMaxThreads = operation::kLanes;
  static constexpr int kMinBlocks = 1;
  using Parameters = MeasureTask<T>;
  static size_t shared_bytes() { return kMaxThreads / 32 * sizeof(Part); }

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const Part* const parts = p.parts + block.index() * p.chunks;
    Part part = operation::no_points();
    for (int64_t chunk = block.thread(); chunk < p.chunks; chunk += operation::kLanes) {
      part = operation::combined(part, parts[chunk]);
    }
    part = combine_lanes(block, part, block.shared<Part>());
    if (block.thread() != 0) return;
    const T* const values = p.state + block.index() * p.n;
    p.figures[block.index()] = operation::figures_of(part, values[0], values[p.n - 1]);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::swept
