// imaging.curvature on the GPU: the choice of the variant.
#include "cuda/imaging/curvature.cuh"

#include "cuda/core/operations.h"
#include "cuda/imaging/curvature.h"
#include "cuda/imaging/curvature_tile_agent.cuh"

namespace warploom::WARPLOOM_TARGET {
namespace imaging {
namespace {

using operation::CurvatureParameters;
using operation::CurvatureVariant;

template <class T>
Status tile_curvature(GpuDevice& device, const operation::Grid& grid, int64_t components, CurvatureTask<T> task) {
  using Agent = CurvatureTileAgent<T>;
  MarchShape& s = task.shape;
  s.nx = static_cast<int32_t>(grid.nx);
  s.ny = static_cast<int32_t>(grid.ny);
  s.nz = static_cast<int32_t>(grid.nz);
  s.points = operation::points_of(grid);
  const int ty = Agent::tile_y(s.nz), tz = Agent::tile_z(s.nz);
  s.columns = (s.nx + Agent::kTileX - 1) / Agent::kTileX;
  s.rows = (s.ny + ty - 1) / ty;
  s.chunks = (s.nz + tz - 1) / tz;
  return launch<Agent>(device, {march_blocks(s, components), Agent::kMaxThreads, Agent::shared_bytes(s.nz), false}, task);
}

CurvatureVariant chosen(const CurvatureParameters& p) {
  if (p.variant != CurvatureVariant::automatic) return p.variant;
  const bool alone = (p.channels == 1 || !p.coupled) && operation::is_even(p.grid, p.spacing);
  return alone && march_takes(p.grid) ? CurvatureVariant::march : CurvatureVariant::direct;
}

template <class T>
Status run_curvature(GpuDevice& device, const CurvatureParameters& p, Control& control) {
  const CurvatureVariant variant = chosen(p);
  if (variant != CurvatureVariant::direct && p.coupled && p.channels > 1) {
    return {Code::unsupported, std::string("variant ") + operation::kCurvatureVariantNames[static_cast<int>(variant)] +
                                   " takes one component, or components that are not coupled", "variant"};
  }
  if (variant != CurvatureVariant::direct && !operation::is_even(p.grid, p.spacing)) {
    return {Code::unsupported, std::string("variant ") + operation::kCurvatureVariantNames[static_cast<int>(variant)] +
                                   " takes points that are equally far apart", "variant"};
  }
  if (variant == CurvatureVariant::march && !march_takes(p.grid)) {
    return {Code::unsupported, "variant march takes planes of less than 2^31 points", "variant"};
  }
  CurvatureTask<T> task;
  task.u = static_cast<T*>(p.image.data) + p.image.offset;
  task.result = static_cast<T*>(p.result.data) + p.result.offset;
  task.eps16 = static_cast<T>(16 * p.eps);
  task.axes = operation::axis_factors<T>(p.grid, p.spacing);
  task.even = operation::is_even(p.grid, p.spacing);
  task.channels = p.coupled ? p.channels : 1;
  WARPLOOM_TRY(device.begin_operation(control));
  switch (variant) {
    case CurvatureVariant::march: WARPLOOM_TRY((march_curvature<T, false>(device, p.grid, p.channels, task))); break;
    case CurvatureVariant::tile: WARPLOOM_TRY(tile_curvature<T>(device, p.grid, p.channels, task)); break;
    default: WARPLOOM_TRY((direct_curvature<T, false>(device, p.grid, p.channels / task.channels, task)));
  }
  WARPLOOM_TRY(device.end_operation(control));
  if (p.report != nullptr) p.report->variant = variant;
  return {};
}

}  // namespace
}  // namespace imaging

Status imaging_curvature(Device& device, const ::warploom::imaging::CurvatureParameters& p, Control& control) {
  GpuDevice& gpu = static_cast<GpuDevice&>(device);
  return p.type == ScalarType::float32 ? imaging::run_curvature<float>(gpu, p, control)
                                       : imaging::run_curvature<double>(gpu, p, control);
}

int64_t imaging_curvature_workspace(const Device&, const ::warploom::imaging::CurvatureParameters&) { return 0; }

}  // namespace warploom::WARPLOOM_TARGET
