// Looks for non-finite values.
#pragma once
#include "cuda/core/device.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

template <class T>
struct FiniteAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr int kMinBlocks = 1;
  struct Parameters {
    const T* values;
    int64_t count;
    int* found;  ///< becomes nonzero
  };
  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    bool bad = false;
    const int64_t stride = block.count() * block.threads();
    for (int64_t i = block.index() * block.threads() + block.thread(); i < p.count; i += stride) {
      bad = bad | !device::is_finite(p.values[i]);
    }
    if (bad) device::atomic_or(p.found, 1);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::swept
