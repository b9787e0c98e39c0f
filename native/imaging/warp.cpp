// imaging.warp on the cpu backend.
#include "cuda/imaging/warp.h"

#include "cuda/core/operations.h"
#include "cuda/imaging/warp_task.h"
#include "native/imaging/warp_run.h"

namespace warploom::cpu {
namespace {

template <class R>
Status warp(CpuDevice& device, const ::warploom::imaging::WarpParameters& p, Control& control) {
  const auto task = ::warploom::imaging::task_of<R>(p);
  const auto kernel = imaging_kernels<R>().registration.warp;
  return run_points(device, p.count, control, [&](int64_t begin, int64_t end) { kernel(task, begin, end); });
}

}  // namespace

Status imaging_warp(Device& device, const ::warploom::imaging::WarpParameters& p, Control& control) {
  CpuDevice& cpu = static_cast<CpuDevice&>(device);
  return p.type == ScalarType::float32 ? warp<float>(cpu, p, control) : warp<double>(cpu, p, control);
}

int64_t imaging_warp_workspace(const Device&, const ::warploom::imaging::WarpParameters&) { return 0; }

}  // namespace warploom::cpu
