// imaging.warp on the GPU.
#include "cuda/core/operations.h"
#include "cuda/imaging/warp.h"
#include "cuda/imaging/warp_launch.cuh"
#include "cuda/imaging/warp_task.h"

namespace warploom::WARPLOOM_TARGET {

Status imaging_warp(Device& device, const ::warploom::imaging::WarpParameters& p, Control& control) {
  GpuDevice& gpu = static_cast<GpuDevice&>(device);
  WARPLOOM_TRY(gpu.begin_operation(control));
  if (p.type == ScalarType::float32) {
    WARPLOOM_TRY(imaging::launch_points(gpu, ::warploom::imaging::task_of<float>(p), p.count));
  } else {
    WARPLOOM_TRY(imaging::launch_points(gpu, ::warploom::imaging::task_of<double>(p), p.count));
  }
  return gpu.end_operation(control);
}

int64_t imaging_warp_workspace(const Device&, const ::warploom::imaging::WarpParameters&) { return 0; }

}  // namespace warploom::WARPLOOM_TARGET
