// imaging.curvature on the cpu backend.
#include "cuda/imaging/curvature.h"

#include <chrono>

#include "cuda/core/operations.h"
#include "native/imaging/curvature_march.h"

namespace warploom::cpu {
namespace {

using ::warploom::imaging::CurvatureParameters;
using ::warploom::imaging::CurvatureVariant;

template <class R>
Status run_curvature(CpuDevice& device, const CurvatureParameters& p, Control& control) {
  CurvatureCall<R> call;
  call.grid = p.grid;
  call.channels = p.channels;
  call.group = p.coupled ? p.channels : 1;
  call.u = static_cast<const R*>(p.image.data) + p.image.offset;
  call.result = static_cast<R*>(p.result.data) + p.result.offset;
  call.eps16 = static_cast<R>(16 * p.eps);
  call.axes = ::warploom::imaging::axis_factors<R>(p.grid, p.spacing);
  call.even = ::warploom::imaging::is_even(p.grid, p.spacing);
  const bool direct = p.variant == CurvatureVariant::direct || call.group > 1 || !call.even;
  WARPLOOM_TRY(direct ? direct_curvature(device, call, control) : march_curvature(device, call, control));
  if (p.report != nullptr) p.report->variant = direct ? CurvatureVariant::direct : CurvatureVariant::march;
  return {};
}

}  // namespace

Status imaging_curvature(Device& device, const CurvatureParameters& p, Control& control) {
  if (p.variant == CurvatureVariant::tile) return {Code::unsupported, "variant tile needs a GPU; the cpu backend has direct and march",
      "variant"};
  if (p.variant == CurvatureVariant::march && p.coupled && p.channels > 1) {
    return {Code::unsupported, "variant march takes one component, or components that are not coupled", "variant"};
  }
  if (p.variant == CurvatureVariant::march && !::warploom::imaging::is_even(p.grid, p.spacing)) {
    return {Code::unsupported, "variant march takes points that are equally far apart", "variant"};
  }
  const auto start = std::chrono::steady_clock::now();
  CpuDevice& cpu = static_cast<CpuDevice&>(device);
  WARPLOOM_TRY(p.type == ScalarType::float32 ? run_curvature<float>(cpu, p, control) : run_curvature<double>(cpu, p, control));
  control.device_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return {};
}

int64_t imaging_curvature_workspace(const Device&, const CurvatureParameters&) { return 0; }

}  // namespace warploom::cpu
