// imaging.resample on the cpu backend.
#include "cuda/imaging/resample.h"

#include "cuda/core/operations.h"
#include "cuda/imaging/warp_task.h"
#include "native/imaging/warp_run.h"

namespace warploom::cpu {
namespace {

template <class R>
Status resample(CpuDevice& device, const ::warploom::imaging::ResampleParameters& p, Control& control) {
  const auto task = ::warploom::imaging::task_of<R>(p);
  const auto kernel = imaging_kernels<R>().registration.resample;
  return run_points(device, p.up ? task.fine_points : task.coarse_points, control,
                    [&](int64_t begin, int64_t end) { kernel(task, begin, end); });
}

}  // namespace

Status imaging_resample(Device& device, const ::warploom::imaging::ResampleParameters& p, Control& control) {
  CpuDevice& cpu = static_cast<CpuDevice&>(device);
  return p.type == ScalarType::float32 ? resample<float>(cpu, p, control) : resample<double>(cpu, p, control);
}

int64_t imaging_resample_workspace(const Device&, const ::warploom::imaging::ResampleParameters&) { return 0; }

}  // namespace warploom::cpu
