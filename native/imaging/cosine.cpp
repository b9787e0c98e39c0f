// imaging.cosine on the cpu backend: one pass per axis, the first from `values` to `result`, the others in place.
#include "cuda/imaging/cosine.h"

#include <chrono>

#include "cuda/core/operations.h"
#include "native/imaging/cosine_pass.h"

namespace warploom::cpu {
namespace {

using namespace ::warploom::imaging;

template <class R>
Status transform(CpuDevice& device, const CosineParameters& p, Control& control) {
  const int64_t extents[3] = {p.grid.nx, p.grid.ny, p.grid.nz};
  const R* from = static_cast<const R*>(p.values.data) + p.values.offset;
  R* const to = static_cast<R*>(p.result.data) + p.result.offset;
  for (int axis = 0; axis < 3; ++axis) {
    if (extents[axis] == 1 && (axis < 2 || from == to)) continue;
    LinesTask<R> task = orthonormal_pass<R>(p, axis);
    const AxisTable<R> table(extents[axis]);
    table.give(task);
    task.from = from;
    task.to = to;
    WARPLOOM_TRY(run_lines(device, task, control));
    from = to;
  }
  return {};
}

}  // namespace

Status imaging_cosine(Device& device, const CosineParameters& p, Control& control) {
  const auto start = std::chrono::steady_clock::now();
  CpuDevice& cpu = static_cast<CpuDevice&>(device);
  WARPLOOM_TRY(p.type == ScalarType::float32 ? transform<float>(cpu, p, control) : transform<double>(cpu, p, control));
  control.device_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {};
}

int64_t imaging_cosine_workspace(const Device&, const CosineParameters&) { return 0; }

}  // namespace warploom::cpu
