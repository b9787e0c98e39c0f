// tridiagonal.vjp on a GPU: the solve with the adjoint matrix, then the gradients of each band.
#include <algorithm>
#include <vector>

#include "cuda/core/launch.cuh"
#include "cuda/core/measuring_device.h"
#include "cuda/core/operations.h"
#include "cuda/tridiagonal/vjp.h"
#include "cuda/tridiagonal/vjp_agent.cuh"

namespace warploom::WARPLOOM_TARGET {

namespace tridiagonal {

namespace {

/// Adds up level by level until one run is left, which is stored.
template <class R>
Status sum_gradient(GpuDevice& device, const operation::BandGradient<R>& gradient, operation::GradientTerm* partials) {
  typename GradientAgent<R>::Parameters p;
  p.gradient = gradient;
  p.from = nullptr;
  p.terms = gradient.terms;
  const auto magnitude = [](int64_t stride) { return stride < 0 ? -stride : stride; };
  p.runs_fast = gradient.over_rows || (gradient.over_systems && magnitude(gradient.x.system_stride) < magnitude(gradient.x.row_stride));
  do {
    p.runs = operation::gradient_runs(p.terms);
    p.to = p.runs > 1 ? partials : nullptr;
    WARPLOOM_TRY(launch<GradientAgent<R>>(device, GradientAgent<R>::shape(p), p));
    partials += p.runs * gradient.entries;
    p.from = p.to;
    p.terms = p.runs;
  } while (p.runs > 1);
  return {};
}

/// Rows of all systems. The offsets of a ragged batch are in device memory.
Status rows_of(GpuDevice& device, const operation::VjpParameters& p, int64_t* rows) {
  *rows = p.n * p.batch;
  if (p.offsets.data == nullptr || p.batch == 0) return {};
  int64_t first = 0;
  WARPLOOM_TRY(device.download(&first, p.offsets.data, sizeof(first)));
  WARPLOOM_TRY(device.download(rows, p.offsets.data + p.batch, sizeof(*rows)));
  *rows -= first;
  return {};
}

template <class R>
std::vector<operation::BandGradient<R>> wanted_gradients(const operation::VjpParameters& p, int64_t rows) {
  std::vector<operation::BandGradient<R>> wanted;
  const auto add = [&](operation::GradientBand band, const View& view) {
    if (view.data == nullptr) return;
    const auto gradient = operation::band_gradient<R>(p, band, view, rows);
    if (gradient.entries > 0) wanted.push_back(gradient);
  };
  add(operation::GradientBand::lower, p.lower_gradient);
  add(operation::GradientBand::diagonal, p.diagonal_gradient);
  add(operation::GradientBand::upper, p.upper_gradient);
  return wanted;
}

/// One pass for all gradients, if none is a sum over several rows.
template <class R>
Status gradients_by_rows(GpuDevice& device, const std::vector<operation::BandGradient<R>>& wanted) {
  typename GradientRowsAgent<R>::Parameters p{};
  for (const auto& gradient : wanted) p.gradients[p.bands++] = gradient;
  const auto& first = wanted.front();
  p.grid = linear::row_grid(first.n, first.batch, first.out.row_stride, first.out.system_stride);
  return launch<GradientRowsAgent<R>>(device, p.grid.shape(), p);
}

template <class R>
Status gradients(GpuDevice& device, const operation::VjpParameters& p, Control& control) {
  int64_t rows = 0;
  WARPLOOM_TRY(rows_of(device, p, &rows));
  const auto wanted = wanted_gradients<R>(p, rows);
  const auto whole = [](const operation::BandGradient<R>& each) { return each.terms == 1 && !each.over_systems && !each.over_rows; };
  if (p.offsets.data == nullptr && !wanted.empty() && std::all_of(wanted.begin(), wanted.end(), whole)) {
    return gradients_by_rows(device, wanted);
  }
  for (const auto& gradient : wanted) {
    if (control.cancelled()) return Status(Code::cancelled, "the call was cancelled");
    Workspace partials;
    const int64_t words = gradient.entries * operation::gradient_partials(gradient.terms);
    if (gradient.terms > 1) {
      WARPLOOM_TRY(Workspace::make(device, words * static_cast<int64_t>(sizeof(operation::GradientTerm)), &partials));
    }
    WARPLOOM_TRY(sum_gradient(device, gradient, partials.template as<operation::GradientTerm>()));
  }
  return {};
}

Status vjp(GpuDevice& device, const operation::VjpParameters& p, Control& control) {
  WARPLOOM_TRY(tridiagonal_solve(device, adjoint_solve(p), control));
  const double solved = control.device_seconds;
  control.device_seconds = 0;
  WARPLOOM_TRY(device.begin_operation(control));
  const bool single = p.type == ScalarType::float32 || p.type == ScalarType::complex64;
  WARPLOOM_TRY(single ? gradients<float>(device, p, control) : gradients<double>(device, p, control));
  WARPLOOM_TRY(device.end_operation(control));
  control.device_seconds += solved;
  return {};
}

}  // namespace

}  // namespace tridiagonal

Status tridiagonal_vjp(Device& device, const ::warploom::tridiagonal::VjpParameters& p, Control& control) {
  return tridiagonal::vjp(static_cast<GpuDevice&>(device), p, control);
}

int64_t tridiagonal_vjp_workspace(const Device& device, const ::warploom::tridiagonal::VjpParameters& p) {
  MeasuringDevice measuring(static_cast<GpuDevice&>(const_cast<Device&>(device)));
  Control control;
  (void)tridiagonal::vjp(measuring, p, control);
  return measuring.peak_bytes();
}

}  // namespace warploom::WARPLOOM_TARGET
