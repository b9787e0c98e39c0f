// Point-by-point tasks, one thread per point.
#pragma once
#include "cuda/core/device.cuh"
#include "cuda/imaging/warp_point.h"

namespace warploom::WARPLOOM_TARGET::imaging {

namespace operation = ::warploom::imaging;

template <class Task>
struct PointTask {
  Task task;
  int64_t points;
};

template <class Task>
struct PointAgent {
  static constexpr int kMaxThreads = 256;
  static constexpr int kMinBlocks = 1;
  using Parameters = PointTask<Task>;

  static WARPLOOM_DEVICE void run(const device::Block& block, const Parameters& p) {
    const int64_t step = block.count() * block.threads();
    for (int64_t i = block.index() * block.threads() + block.thread(); i < p.points; i += step) p.task.point(i);
  }
};

}  // namespace warploom::WARPLOOM_TARGET::imaging
