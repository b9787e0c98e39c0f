// imaging.cosine on the GPU: one pass per axis, the first from `values` to `result`, the others in place.
#include "cuda/core/measuring_device.h"
#include "cuda/core/operations.h"
#include "cuda/imaging/cosine.h"
#include "cuda/imaging/cosine_launch.cuh"

namespace warploom::WARPLOOM_TARGET {
namespace imaging {
namespace {

template <class T>
Status transform(GpuDevice& device, const operation::CosineParameters& p, Control& control) {
  const int64_t extents[3] = {p.grid.nx, p.grid.ny, p.grid.nz};
  AxisTables<T> tables;
  WARPLOOM_TRY(tables.prepare(device, extents, 3));
  const T* from = static_cast<const T*>(p.values.data) + p.values.offset;
  T* const to = static_cast<T*>(p.result.data) + p.result.offset;
  WARPLOOM_TRY(device.begin_operation(control));
  for (int axis = 0; axis < 3; ++axis) {
    if (extents[axis] == 1 && (axis < 2 || from == to)) continue;
    if (control.cancelled()) return {Code::cancelled, "cancelled"};
    LinesTask<T> task = operation::orthonormal_pass<T>(p, axis);
    task.plan = tables.plan(axis);
    task.table = tables.table(axis);
    task.from = from;
    task.to = to;
    LinesPass<T> pass;
    WARPLOOM_TRY(pass.prepare(device, task));
    WARPLOOM_TRY(pass.launch(device));
    from = to;
  }
  return device.end_operation(control);
}

}  // namespace
}  // namespace imaging

Status imaging_cosine(Device& device, const ::warploom::imaging::CosineParameters& p, Control& control) {
  GpuDevice& gpu = static_cast<GpuDevice&>(device);
  return p.type == ScalarType::float32 ? imaging::transform<float>(gpu, p, control) : imaging::transform<double>(gpu, p, control);
}

int64_t imaging_cosine_workspace(const Device& device, const ::warploom::imaging::CosineParameters& p) {
  MeasuringDevice measuring(static_cast<GpuDevice&>(const_cast<Device&>(device)));
  Control control;
  (void)imaging_cosine(measuring, p, control);
  return measuring.peak_bytes();
}

}  // namespace warploom::WARPLOOM_TARGET
