// tridiagonal.multiply on a GPU.
#include "cuda/core/launch.cuh"
#include "cuda/tridiagonal/multiply_agent.cuh"

#include "cuda/tridiagonal/multiply.h"

namespace warploom::WARPLOOM_TARGET {

namespace tridiagonal {

namespace {

template <class T>
Status multiply(GpuDevice& device, const operation::MultiplyParameters& p, Control& control) {
  if (p.batch * p.rhs_count == 0 || p.n == 0) return {};
  typename MultiplyAgent<T>::Parameters parameters;
  parameters.bands = resolve_bands<T>(p);
  Batch<T>& batch = parameters.batch;
  batch.n = p.n;
  batch.systems = p.batch;
  batch.rhs_count = p.rhs_count;
  batch.offsets = p.offsets.data;
  batch.lower = parameters.bands.lower;
  batch.diagonal = parameters.bands.diagonal;
  batch.upper = parameters.bands.upper;
  batch.rhs = strided<T>(p.x, batch.offsets != nullptr);
  batch.solution = strided<T>(p.y, batch.offsets != nullptr);
  parameters.grid = row_grid(batch, batch.solution,
                             total_rows(p.n, p.batch, batch.offsets != nullptr, p.y));
  parameters.periodic = p.periodic;
  parameters.alpha = static_cast<RealOf<T>>(p.alpha);
  parameters.beta = static_cast<RealOf<T>>(p.beta);
  if (control.cancelled()) return Status(Code::cancelled, "the call was cancelled");
  WARPLOOM_TRY(device.begin_operation(control));
  WARPLOOM_TRY(launch<MultiplyAgent<T>>(device, parameters.grid.shape(), parameters));
  WARPLOOM_TRY(device.end_operation(control));
  control.progress(1, 1);
  return {};
}

}  // namespace

}  // namespace tridiagonal

Status tridiagonal_multiply(Device& device, const ::warploom::tridiagonal::MultiplyParameters& p,
                            Control& control) {
  GpuDevice& gpu = static_cast<GpuDevice&>(device);
  switch (p.type) {
    case ScalarType::float32: return tridiagonal::multiply<float>(gpu, p, control);
    case ScalarType::float64: return tridiagonal::multiply<double>(gpu, p, control);
    case ScalarType::complex64: return tridiagonal::multiply<Complex<float>>(gpu, p, control);
    default: return tridiagonal::multiply<Complex<double>>(gpu, p, control);
  }
}

int64_t tridiagonal_multiply_workspace(const Device&, const ::warploom::tridiagonal::MultiplyParameters&) {
  return 0;
}

}  // namespace warploom::WARPLOOM_TARGET
