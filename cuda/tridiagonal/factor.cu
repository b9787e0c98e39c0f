// tridiagonal.factor on a GPU.
#include "cuda/tridiagonal/factor/factor_agent.cuh"

#include <cmath>

#include "cuda/core/measuring_device.h"
#include "cuda/linear/summary.cuh"
#include "cuda/tridiagonal/periodic/periodic.cuh"

namespace warploom::WARPLOOM_TARGET {

namespace tridiagonal {

namespace {

template <class T>
Status factor(GpuDevice& device, const operation::FactorParameters& p, Control& control) {
  if (p.batch == 0 && !p.summarize) return {};
  if (control.cancelled()) return Status(Code::cancelled, "the call was cancelled");
  using Agent = FactorAgent<T>;
  const Bands<T> bands = resolve_bands<T>(p);
  typename Agent::Parameters parameters{};
  Batch<T>& batch = parameters.batch;
  batch.n = p.n;
  batch.systems = p.batch;
  batch.offsets = p.offsets.data;
  batch.lower = bands.lower;
  batch.diagonal = bands.diagonal;
  batch.upper = bands.upper;
  parameters.factorisation = p.factorisation;
  parameters.layout = Agent::Layout::of(p.type, p.n, p.batch, p.periodic, p.factorisation);
  parameters.arrays = reinterpret_cast<T*>(p.factors.data);
  parameters.closing = reinterpret_cast<T*>(p.factors.data + parameters.layout.closing_at);
  if (p.n > 0) parameters.states = reinterpret_cast<int32_t*>(p.factors.data + parameters.layout.states_at);
  parameters.choices = reinterpret_cast<int8_t*>(p.factors.data + parameters.layout.choices_at);
  parameters.status = p.status.data;
  parameters.row = p.row.data;
  WARPLOOM_TRY(device.begin_operation(control));
  int launches = 0;
  if (p.batch == 0) {
    WARPLOOM_TRY(summarise(device, p, 0, &launches));
    return device.end_operation(control);
  }
  Workspace corners;
  if (p.periodic) {
    Used used;
    WARPLOOM_TRY(Workspace::make(device, 2 * p.batch * static_cast<int64_t>(sizeof(T)), &corners));
    WARPLOOM_TRY(gather_corners(device, batch, bands, corners.as<T>(), &used));
    parameters.corners = corners.as<T>();
  }
  LaunchShape shape;
  shape.threads = Agent::kMaxThreads;
  shape.blocks = (p.batch + shape.threads - 1) / shape.threads;
  using Chunks = FactorChunksAgent<T>;
  WARPLOOM_TRY(Chunks::takes(parameters) ? launch<Chunks>(device, shape, parameters)
                                         : launch<Agent>(device, shape, parameters));
  WARPLOOM_TRY(summarise(device, p, p.batch, &launches));
  WARPLOOM_TRY(device.end_operation(control));
  control.progress(1, 1);
  return {};
}

Status factor_any(GpuDevice& device, const operation::FactorParameters& p, Control& control) {
  switch (p.type) {
    case ScalarType::float32: return factor<float>(device, p, control);
    case ScalarType::float64: return factor<double>(device, p, control);
    case ScalarType::complex64: return factor<Complex<float>>(device, p, control);
    default: return factor<Complex<double>>(device, p, control);
  }
}

}  // namespace

}  // namespace tridiagonal

Status tridiagonal_factor(Device& device, const ::warploom::tridiagonal::FactorParameters& p, Control& control) {
  return tridiagonal::factor_any(static_cast<GpuDevice&>(device), p, control);
}

int64_t tridiagonal_factor_workspace(const Device& device, const ::warploom::tridiagonal::FactorParameters& p) {
  MeasuringDevice measuring(static_cast<GpuDevice&>(const_cast<Device&>(device)));
  Control control;
  (void)tridiagonal::factor_any(measuring, p, control);
  return measuring.peak_bytes();
}

}  // namespace warploom::WARPLOOM_TARGET
