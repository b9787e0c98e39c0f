// tridiagonal.condition on a GPU.
#include "cuda/core/launch.cuh"
#include "cuda/tridiagonal/condition_agent.cuh"

#include <algorithm>
#include <cmath>

#include "cuda/core/measuring_device.h"
#include "cuda/tridiagonal/condition.h"
#include "cuda/tridiagonal/periodic/periodic.cuh"

namespace warploom::WARPLOOM_TARGET {

namespace tridiagonal {

namespace {

constexpr int64_t kWorkingBytes = int64_t{512} << 20;

/// op(A) for residuals, and a matrix with its adjoint for norms. The matrix uses the conjugate transpose in place of a
/// transpose: conjugation does not change norms, and the adjoint is then A itself.
template <class T>
struct ConditionBands {
  Bands<T> own, matrix, adjoint;

  explicit ConditionBands(operation::ConditionParameters p) : own(resolve_bands<T>(p)) {
    using operation::Transpose;
    const bool plain = p.transpose == Transpose::none;
    p.transpose = plain ? Transpose::none : Transpose::conjugate;
    matrix = resolve_bands<T>(p);
    p.transpose = plain ? Transpose::conjugate : Transpose::none;
    adjoint = resolve_bands<T>(p);
  }
};

template <class T>
Batch<T> batch_of(const operation::ConditionParameters& p, const Bands<T>& bands) {
  Batch<T> batch;
  batch.n = p.n;
  batch.systems = p.batch;
  batch.rhs_count = std::max<int64_t>(p.rhs_count, 1);
  batch.offsets = p.offsets.data;
  batch.lower = bands.lower;
  batch.diagonal = bands.diagonal;
  batch.upper = bands.upper;
  if (p.rhs_count > 0) {
    batch.rhs = strided<T>(p.rhs, batch.offsets != nullptr);
    batch.solution = strided<T>(p.solution, batch.offsets != nullptr);
  }
  return batch;
}

template <class T>
Status condition(GpuDevice& device, const operation::ConditionParameters& p, Control& control) {
  if (p.batch == 0) return {};
  if (control.cancelled()) return Status(Code::cancelled, "the call was cancelled");
  using Agent = ConditionAgent<T>;
  const ConditionBands<T> bands(p);
  typename Agent::Parameters parameters{};
  parameters.batch = batch_of(p, bands.own);
  parameters.matrix = batch_of(p, bands.matrix);
  parameters.adjoint = batch_of(p, bands.adjoint);
  parameters.reciprocal_condition = p.reciprocal_condition.data;
  parameters.forward_error = p.forward_error.data;
  parameters.backward_error = p.backward_error.data;
  parameters.rhs_count = p.rhs_count;
  WARPLOOM_TRY(device.begin_operation(control));
  const int64_t element = sizeof(T);
  Workspace corners;
  if (p.periodic) {
    Used used;
    WARPLOOM_TRY(Workspace::make(device, 6 * p.batch * element, &corners));
    T* const own = corners.as<T>();
    WARPLOOM_TRY(gather_corners(device, parameters.batch, bands.own, own, &used));
    WARPLOOM_TRY(gather_corners(device, parameters.matrix, bands.matrix, own + 2 * p.batch, &used));
    WARPLOOM_TRY(gather_corners(device, parameters.adjoint, bands.adjoint, own + 4 * p.batch, &used));
    parameters.corners = own;
    parameters.matrix_corners = own + 2 * p.batch;
    parameters.adjoint_corners = own + 4 * p.batch;
  }
  const int64_t rows = std::max<int64_t>(p.n, 1), slot_bytes = rows * (Agent::arrays(p.periodic) * element + 2);
  const int64_t slots = std::max<int64_t>(1, std::min<int64_t>(p.batch, kWorkingBytes / slot_bytes));
  Workspace memory;
  WARPLOOM_TRY(Workspace::make(device, slots * slot_bytes, &memory));
  parameters.workspace = memory.as<T>();
  parameters.choices = memory.as<int8_t>(slots * rows * Agent::arrays(p.periodic) * element);
  parameters.rows = rows;
  parameters.slots = slots;
  LaunchShape shape;
  shape.threads = Agent::kMaxThreads;
  shape.blocks = (slots + shape.threads - 1) / shape.threads;
  WARPLOOM_TRY(launch<Agent>(device, shape, parameters));
  WARPLOOM_TRY(device.end_operation(control));
  control.progress(1, 1);
  return {};
}

Status condition_any(GpuDevice& device, const operation::ConditionParameters& p, Control& control) {
  switch (p.type) {
    case ScalarType::float32: return condition<float>(device, p, control);
    case ScalarType::float64: return condition<double>(device, p, control);
    case ScalarType::complex64: return condition<Complex<float>>(device, p, control);
    default: return condition<Complex<double>>(device, p, control);
  }
}

}  // namespace

}  // namespace tridiagonal

Status tridiagonal_condition(Device& device, const ::warploom::tridiagonal::ConditionParameters& p,
                             Control& control) {
  return tridiagonal::condition_any(static_cast<GpuDevice&>(device), p, control);
}

int64_t tridiagonal_condition_workspace(const Device& device,
                                        const ::warploom::tridiagonal::ConditionParameters& p) {
  MeasuringDevice measuring(static_cast<GpuDevice&>(const_cast<Device&>(device)));
  Control control;
  (void)tridiagonal::condition_any(measuring, p, control);
  return measuring.peak_bytes();
}

}  // namespace warploom::WARPLOOM_TARGET
