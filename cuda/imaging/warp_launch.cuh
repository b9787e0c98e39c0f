// Launches a point-by-point task.
#pragma once
#include <algorithm>

#include "cuda/core/launch.cuh"
#include "cuda/imaging/warp_agent.cuh"

namespace warploom::WARPLOOM_TARGET::imaging {

template <class Task>
Status launch_points(GpuDevice& device, const Task& task, int64_t points) {
  if (points == 0) return {};
  const int64_t blocks = (points + PointAgent<Task>::kMaxThreads - 1) / PointAgent<Task>::kMaxThreads;
  return launch<PointAgent<Task>>(device, {std::min(blocks, device.limits().max_blocks), PointAgent<Task>::kMaxThreads, 0, false},
                                  {task, points});
}

}  // namespace warploom::WARPLOOM_TARGET::imaging
