// @domain@.@operation@ on the GPU.
#include "cuda/core/launch.cuh"
#include "cuda/core/operations.h"
#include "cuda/@domain@/@operation@_agent.cuh"

namespace warploom::WARPLOOM_TARGET {
namespace @domain@ {
namespace {

template <class T>
Status run_@operation@(GpuDevice& device, const ::warploom::@domain@::@Operation@Parameters& p, Control& control) {
  using Agent = @Operation@Agent<T>;
  const int64_t tile = int64_t{Agent::kMaxThreads} * Agent::kPerThread;
  const typename Agent::Parameters parameters = {static_cast<const T*>(p.values.data) + p.values.offset,
                                                 static_cast<T*>(p.result.data) + p.result.offset, p.n,
                                                 static_cast<T>(p.factor)};
  WARPLOOM_TRY(device.begin_operation(control));
  WARPLOOM_TRY(launch<Agent>(device, {(p.n + tile - 1) / tile, Agent::kMaxThreads, 0, false}, parameters));
  return device.end_operation(control);
}

}  // namespace
}  // namespace @domain@

Status @domain@_@operation@(Device& device, const ::warploom::@domain@::@Operation@Parameters& p, Control& control) {
  if (p.n == 0) return {};
  GpuDevice& gpu = static_cast<GpuDevice&>(device);
  return p.type == ScalarType::float32 ? @domain@::run_@operation@<float>(gpu, p, control)
                                       : @domain@::run_@operation@<double>(gpu, p, control);
}

int64_t @domain@_@operation@_workspace(const Device&, const ::warploom::@domain@::@Operation@Parameters&) { return 0; }

}  // namespace warploom::WARPLOOM_TARGET
