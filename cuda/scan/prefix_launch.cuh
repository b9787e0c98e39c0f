// Launches one level of a register-packed scan, for prefix.cu and its experiments.
#pragma once
#include "cuda/core/launch.cuh"
#include "cuda/scan/regpack_agent.cuh"

namespace warploom::WARPLOOM_TARGET::scan {

/// How one level of a scan is cut into blocks.
struct Shape {
  bool packed = true;
  int depth = 0, radix = 2;
  int threads = 0, row_shift = 0, tile = 0;
  int64_t n = 0, rows = 0, tiles = 1, blocks = 0;
};

template <class T, int kDepth, int kRadix>
Status launch_packed(GpuDevice& device, const Shape& shape, const Task<T>& task) {
  LaunchShape launch_shape = {shape.blocks, shape.threads, 0, false};
  if (task.flags != nullptr) {
    using Agent = RegpackAgent<T, kDepth, kRadix, true>;
    launch_shape.shared_bytes = Agent::shared_bytes();
    return launch<Agent>(device, launch_shape, task);
  }
  using Agent = RegpackAgent<T, kDepth, kRadix, false>;
  launch_shape.shared_bytes = Agent::shared_bytes();
  return launch<Agent>(device, launch_shape, task);
}

/// Radix 4 and depth 32, which no policy chooses; callers may request them, for comparison. Depth 2 has one stage,
/// where radix 4 makes no difference.
inline bool is_experiment(const Shape& shape) {
  return shape.packed && (shape.depth == 32 || (shape.radix == 4 && shape.depth > 2));
}
WARPLOOM_OPTIONAL Status launch_experiment(GpuDevice&, const Shape&, const Task<float>&);
WARPLOOM_OPTIONAL Status launch_experiment(GpuDevice&, const Shape&, const Task<double>&);

}  // namespace warploom::WARPLOOM_TARGET::scan
