// Copies of words within a device's memory: between the arrays in which a program's ends pass the link and the rings of its channels.
#pragma once
#include "cuda/core/device.cuh"

namespace warploom::WARPLOOM_TARGET::stream {

struct MoveAgent {
  static constexpr int kMaxThreads = 256, kMinBlocks = 1;
  struct Parameters {
    const int* from;
    int* to;
    int64_t first_from, first_to, count;  ///< words
  };

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    constexpr int kAtOnce = 4;
    const int* from = p.from + p.first_from;
    int* to = p.to + p.first_to;
    const int64_t step = int64_t{block.count()} * block.threads();
    int64_t i = int64_t{block.index()} * block.threads() + block.thread();
    for (; i + (kAtOnce - 1) * step < p.count; i += kAtOnce * step) {
      int words[kAtOnce];
      WARPLOOM_UNROLL
      for (int k = 0; k < kAtOnce; ++k) words[k] = from[i + k * step];
      WARPLOOM_UNROLL
      for (int k = 0; k < kAtOnce; ++k) to[i + k * step] = words[k];
    }
    for (; i < p.count; i += step) to[i] = from[i];
  }
};

}  // namespace warploom::WARPLOOM_TARGET::stream
