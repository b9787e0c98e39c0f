// Scans that no policy chooses: radix 4, and 32 elements per thread.
#include "cuda/scan/prefix_launch.cuh"

namespace warploom::WARPLOOM_TARGET::scan {
namespace {

template <class T>
Status launch_named(GpuDevice& device, const Shape& shape, const Task<T>& task) {
  if (shape.radix == 2) return launch_packed<T, 32, 2>(device, shape, task);
  switch (shape.depth) {
    case 4: return launch_packed<T, 4, 4>(device, shape, task);
    case 8: return launch_packed<T, 8, 4>(device, shape, task);
    case 16: return launch_packed<T, 16, 4>(device, shape, task);
    default: return launch_packed<T, 32, 4>(device, shape, task);
  }
}

}  // namespace

Status launch_experiment(GpuDevice& device, const Shape& shape, const Task<float>& task) {
  return launch_named<float>(device, shape, task);
}
Status launch_experiment(GpuDevice& device, const Shape& shape, const Task<double>& task) {
  return launch_named<double>(device, shape, task);
}

}  // namespace warploom::WARPLOOM_TARGET::scan
