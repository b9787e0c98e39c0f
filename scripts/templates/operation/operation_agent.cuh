// One block's work of @domain@.@operation@.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/@domain@/@operation@_policy.h"

namespace warploom::WARPLOOM_TARGET::@domain@ {

template <class T>
struct @Operation@Agent {
  static constexpr int kMaxThreads = ::warploom::@domain@::k@Operation@Threads;
  static constexpr int kMinBlocks = 2;
  static constexpr int kPerThread = ::warploom::@domain@::k@Operation@PerThread;

  struct Parameters {
    const T* values;
    T* result;
    int64_t n;
    T factor;
  };

  /// The stride between the elements of a thread is the block size, so that neighbouring lanes access neighbouring elements.
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t first = block.index() * block.threads() * kPerThread + block.thread();
    WARPLOOM_UNROLL
    for (int i = 0; i < kPerThread; ++i) {
      const int64_t at = first + static_cast<int64_t>(i) * block.threads();
      if (at < p.n) p.result[at] = p.factor * p.values[at];
    }
  }
};

}  // namespace warploom::WARPLOOM_TARGET::@domain@
