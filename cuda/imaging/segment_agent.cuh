// One block's work of imaging.segment.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/imaging/segment_policy.h"

namespace warploom::WARPLOOM_TARGET::imaging {

template <class T>
struct SegmentAgent {
  static constexpr int kMaxThreads = ::warploom::imaging::kSegmentThreads;
  static constexpr int kMinBlocks = 2;
  static constexpr int kPerThread = ::warploom::imaging::kSegmentPerThread;

  struct Parameters {
    const T* values;
    T* result;
    int64_t n;
    T factor;
  };

  /// Elements are handed out with a stride of the block, so that neighbouring lanes touch neighbours.
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t first = block.index() * block.threads() * kPerThread + block.thread();
    WARPLOOM_UNROLL
    for (int i = 0; i < kPerThread; ++i) {
      const int64_t at = first + static_cast<int64_t>(i) * block.threads();
      if (at < p.n) p.result[at] = p.factor * p.values[at];
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::imaging
