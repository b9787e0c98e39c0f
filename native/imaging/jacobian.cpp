// imaging.jacobian on the cpu backend.
#include "cuda/imaging/jacobian.h"

#include <vector>

#include "cuda/core/operations.h"
#include "cuda/imaging/warp_task.h"
#include "native/imaging/warp_run.h"

namespace warploom::cpu {
namespace {

using ::warploom::imaging::JacobianFigures;

template <class R>
Status jacobian(CpuDevice& device, const ::warploom::imaging::JacobianParameters& p, Control& control) {
  const auto task = ::warploom::imaging::task_of<R>(p);
  const auto kernel = imaging_kernels<R>().registration.jacobian;
  std::vector<JacobianFigures> parts(static_cast<size_t>((task.points + kPointsPerTask - 1) / kPointsPerTask));
  WARPLOOM_TRY(run_points(device, task.points, control, [&](int64_t begin, int64_t end) {
    kernel(task, begin, end, &parts[static_cast<size_t>(begin / kPointsPerTask)]);
  }));
  JacobianFigures all = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) all = combined(all, parts[i]);
  if (p.report != nullptr) *p.report->bounds.data = bounds_of(all);
  return {};
}

}  // namespace

Status imaging_jacobian(Device& device, const ::warploom::imaging::JacobianParameters& p, Control& control) {
  CpuDevice& cpu = static_cast<CpuDevice&>(device);
  return p.type == ScalarType::float32 ? jacobian<float>(cpu, p, control) : jacobian<double>(cpu, p, control);
}

int64_t imaging_jacobian_workspace(const Device&, const ::warploom::imaging::JacobianParameters&) { return 0; }

}  // namespace warploom::cpu
