// imaging.denoise on the GPU.
#include "cuda/core/launch.cuh"
#include "cuda/core/operations.h"
#include "cuda/imaging/denoise_agent.cuh"

namespace warploom::WARPLOOM_TARGET {
namespace imaging {
namespace {

template <class T>
Status run_denoise(GpuDevice& device, const ::warploom::imaging::DenoiseParameters& p, Control& control) {
  using Agent = DenoiseAgent<T>;
  const int64_t tile = int64_t{Agent::kMaxThreads} * Agent::kPerThread;
  const typename Agent::Parameters parameters = {static_cast<const T*>(p.values.data) + p.values.offset,
                                                 static_cast<T*>(p.result.data) + p.result.offset, p.n,
                                                 static_cast<T>(p.factor)};
  WARPLOOM_TRY(device.begin_operation(control));
  WARPLOOM_TRY(launch<Agent>(device, {(p.n + tile - 1) / tile, Agent::kMaxThreads, 0, false}, parameters));
  return device.end_operation(control);
}

}  // namespace
}  // namespace imaging

Status imaging_denoise(Device& device, const ::warploom::imaging::DenoiseParameters& p, Control& control) {
  if (p.n == 0) return {};
  GpuDevice& gpu = static_cast<GpuDevice&>(device);
  return p.type == ScalarType::float32 ? imaging::run_denoise<float>(gpu, p, control)
                                       : imaging::run_denoise<double>(gpu, p, control);
}

int64_t imaging_denoise_workspace(const Device&, const ::warploom::imaging::DenoiseParameters&) { return 0; }

}  // namespace warploom::WARPLOOM_TARGET
