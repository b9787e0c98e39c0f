// tridiagonal.solve on a GPU: element type, then everything around the algorithm (solve_call.cuh).
#include "cuda/core/measuring_device.h"
#include "cuda/tridiagonal/solve_call.cuh"

namespace warploom::WARPLOOM_TARGET {

namespace {

Status solve_any(GpuDevice& device, const ::warploom::tridiagonal::SolveParameters& p, Control& control) {
  switch (p.type) {
    case ScalarType::float32: return tridiagonal::SolveCall<float>(device, p, control).run();
    case ScalarType::float64: return tridiagonal::SolveCall<double>(device, p, control).run();
    case ScalarType::complex64: return tridiagonal::SolveCall<Complex<float>>(device, p, control).run();
    default: return tridiagonal::SolveCall<Complex<double>>(device, p, control).run();
  }
}

}  // namespace

Status tridiagonal_solve(Device& device, const ::warploom::tridiagonal::SolveParameters& p, Control& control) {
  return solve_any(static_cast<GpuDevice&>(device), p, control);
}

int64_t tridiagonal_solve_workspace(const Device& device, const ::warploom::tridiagonal::SolveParameters& p) {
  // Only the limits of the device are used.
  MeasuringDevice measuring(static_cast<GpuDevice&>(const_cast<Device&>(device)));
  Control control;
  (void)solve_any(measuring, p, control);
  return measuring.peak_bytes();
}

}  // namespace warploom::WARPLOOM_TARGET
