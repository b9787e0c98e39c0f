// imaging.jacobian on the GPU.
#include <algorithm>

#include "cuda/core/launch.cuh"
#include "cuda/core/operations.h"
#include "cuda/imaging/jacobian.h"
#include "cuda/imaging/jacobian_agent.cuh"
#include "cuda/imaging/warp_task.h"

namespace warploom::WARPLOOM_TARGET {
namespace imaging {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kMostBlocks = 1024;

int64_t blocks_of(const operation::JacobianParameters& p) {
  return std::min((points_of(p.grid) + kThreads - 1) / kThreads, kMostBlocks);
}
int64_t parts_bytes(const operation::JacobianParameters& p) { return blocks_of(p) * static_cast<int64_t>(sizeof(JacobianFigures)); }

template <class T>
Status determinants(GpuDevice& device, const operation::JacobianParameters& p, Control& control) {
  const size_t shared = kThreads / 32 * sizeof(JacobianFigures);
  Workspace parts;
  WARPLOOM_TRY(Workspace::make(device, parts_bytes(p), &parts));
  WARPLOOM_TRY(device.begin_operation(control));
  const int64_t blocks = blocks_of(p);
  operation::JacobianBounds* const bounds = p.report != nullptr ? p.report->bounds.data : nullptr;
  WARPLOOM_TRY(launch<DeterminantAgent<T>>(device, {blocks, kThreads, shared, false},
                                           {operation::task_of<T>(p), parts.as<JacobianFigures>()}));
  if (bounds != nullptr) {
    WARPLOOM_TRY(launch<BoundsAgent>(device, {1, kThreads, shared, false}, {parts.as<JacobianFigures>(), blocks, bounds}));
  }
  return device.end_operation(control);
}

}  // namespace
}  // namespace imaging

Status imaging_jacobian(Device& device, const ::warploom::imaging::JacobianParameters& p, Control& control) {
  GpuDevice& gpu = static_cast<GpuDevice&>(device);
  return p.type == ScalarType::float32 ? imaging::determinants<float>(gpu, p, control) : imaging::determinants<double>(gpu, p, control);
}

int64_t imaging_jacobian_workspace(const Device&, const ::warploom::imaging::JacobianParameters& p) { return imaging::parts_bytes(p); }

}  // namespace warploom::WARPLOOM_TARGET
