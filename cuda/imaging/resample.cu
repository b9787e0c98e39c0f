// imaging.resample on the GPU.
#include "cuda/core/operations.h"
#include "cuda/imaging/resample.h"
#include "cuda/imaging/warp_launch.cuh"
#include "cuda/imaging/warp_task.h"

namespace warploom::WARPLOOM_TARGET {

Status imaging_resample(Device& device, const ::warploom::imaging::ResampleParameters& p, Control& control) {
  GpuDevice& gpu = static_cast<GpuDevice&>(device);
  const int64_t points = p.up ? points_of(p.grid) : points_of(coarse_grid(p));
  WARPLOOM_TRY(gpu.begin_operation(control));
  if (p.type == ScalarType::float32) {
    WARPLOOM_TRY(imaging::launch_points(gpu, ::warploom::imaging::task_of<float>(p), points));
  } else {
    WARPLOOM_TRY(imaging::launch_points(gpu, ::warploom::imaging::task_of<double>(p), points));
  }
  return gpu.end_operation(control);
}

int64_t imaging_resample_workspace(const Device&, const ::warploom::imaging::ResampleParameters&) { return 0; }

}  // namespace warploom::WARPLOOM_TARGET
