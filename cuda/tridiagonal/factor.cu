// tridiagonal.factor on a GPU.
#include "cuda/tridiagonal/factor_agent.cuh"

#include <cmath>

#include "cuda/tridiagonal/periodic.cuh"

namespace warploom::WARPLOOM_TARGET {

namespace tridiagonal {

namespace {

template <class T>
Status factor(GpuDevice& device, const operation::FactorParameters& p, Control& control) {
  if (p.batch == 0) return {};
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
  WARPLOOM_TRY(device.end_operation(control));
  control.progress(1, 1);
  return {};
}

}  // namespace

}  // namespace tridiagonal

Status tridiagonal_factor(Device& device, const ::warploom::tridiagonal::FactorParameters& p, Control& control) {
  GpuDevice& gpu = static_cast<GpuDevice&>(device);
  switch (p.type) {
    case ScalarType::float32: return tridiagonal::factor<float>(gpu, p, control);
    case ScalarType::float64: return tridiagonal::factor<double>(gpu, p, control);
    case ScalarType::complex64: return tridiagonal::factor<Complex<float>>(gpu, p, control);
    default: return tridiagonal::factor<Complex<double>>(gpu, p, control);
  }
}

int64_t tridiagonal_factor_workspace(const Device&, const ::warploom::tridiagonal::FactorParameters& p) {
  return p.periodic ? 2 * p.batch * scalar_bytes(p.type) : 0;
}

}  // namespace warploom::WARPLOOM_TARGET
