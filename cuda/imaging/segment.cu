// imaging.segment on the GPU.
#include "cuda/core/launch.cuh"
#include "cuda/core/operations.h"
#include "cuda/imaging/segment_agent.cuh"

namespace warploom::WARPLOOM_TARGET {
namespace imaging {
namespace {

template <class T>
Status run_segment(GpuDevice& device, const ::warploom::imaging::SegmentParameters& p, Control& control) {
  using Agent = SegmentAgent<T>;
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

Status imaging_segment(Device& device, const ::warploom::imaging::SegmentParameters& p, Control& control) {
  if (p.n == 0) return {};
  GpuDevice& gpu = static_cast<GpuDevice&>(device);
  return p.type == ScalarType::float32 ? imaging::run_segment<float>(gpu, p, control)
                                       : imaging::run_segment<double>(gpu, p, control);
}

int64_t imaging_segment_workspace(const Device&, const ::warploom::imaging::SegmentParameters&) { return 0; }

}  // namespace warploom::WARPLOOM_TARGET
