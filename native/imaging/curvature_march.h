// The curvature of an image on the cpu backend, slab by slab, for imaging.curvature and the flow of imaging.denoise.
#pragma once
#include <algorithm>

#include "cuda/imaging/curvature_point.h"
#include "cuda/imaging/grid.h"
#include "native/cpu/device.h"
#include "native/imaging/kernels.h"

namespace warploom::cpu {

/// One call. Each group of `group` components is processed on its own.
template <class R>
struct CurvatureCall {
  ::warploom::imaging::Grid grid;
  int64_t channels = 1;
  int64_t group = 1;  ///< components that share a norm
  const R* u = nullptr;
  R* result = nullptr;
  R eps16 = 0;
  ::warploom::imaging::AxisFactors<R> axes;  ///< for direct_curvature
  bool even = true;                          ///< all factors are 1
  bool flow = false;
  const R* f = nullptr;
  R weight4 = 0, dt = 0;
};

/// Treats an image's rows as planes of a volume, each one row high: the same bits (curvature_point.h).
inline ::warploom::imaging::Grid as_planes(const ::warploom::imaging::Grid& g) {
  return g.nz > 1 ? g : ::warploom::imaging::Grid{g.nx, 1, g.ny};
}

/// Planes per task: enough to hide the work done twice at its ends, few enough to keep all threads busy.
inline int64_t slab_planes(int64_t planes, int64_t plane_points, int64_t groups, int threads) {
  const int64_t least = std::max<int64_t>(1, 16384 / plane_points);
  const int64_t tasks = std::max<int64_t>(1, 4 * threads / groups);
  return std::clamp<int64_t>((planes + tasks - 1) / tasks, std::min(least, planes), planes);
}

/// One task for each slab of each component, with vectors.
template <class R>
Status march_curvature(CpuDevice& device, const CurvatureCall<R>& call, Control& control) {
  const auto& kernels = imaging_kernels<R>().denoise;
  const ::warploom::imaging::Grid g = as_planes(call.grid);
  const int64_t plane = g.nx * g.ny, points = plane * g.nz, depth = slab_planes(g.nz, plane, call.channels, device.thread_count());
  const int64_t slabs = (g.nz + depth - 1) / depth;
  WARPLOOM_TRY(device.reserve_scratch((plane + 4 * (g.nx + 1)) * static_cast<int64_t>(sizeof(R))));
  return device.threads().run(call.channels * slabs, [&](int64_t task, int worker) {
    const int64_t component = task / slabs, z0 = (task - component * slabs) * depth, z1 = std::min(g.nz, z0 + depth);
    const R* const u = call.u + component * points;
    R* const scratch = static_cast<R*>(device.scratch(worker));
    const auto at = [&](int64_t z) { return u + std::clamp<int64_t>(z, 0, g.nz - 1) * plane; };
    CurvaturePlane<R> p = {at(z0 - 1), at(z0), nullptr, g.nx, g.ny, call.eps16, scratch, scratch + plane, nullptr, nullptr, call.weight4,
        call.dt};
    kernels.flux_between(p);
    for (int64_t z = z0; z < z1; ++z) {
      p.below = at(z - 1);
      p.here = at(z);
      p.above = at(z + 1);
      p.result = call.result + component * points + z * plane;
      if (call.flow) p.f = call.f + component * points + z * plane;
      kernels.curvature_plane(p, call.flow);
    }
    return Status();
  }, control);
}

/// Point by point, for components that share a norm, for points not equally far apart, and for the variant `direct`.
template <class R>
Status direct_curvature(CpuDevice& device, const CurvatureCall<R>& call, Control& control) {
  namespace im = ::warploom::imaging;
  const im::Grid& g = call.grid;
  const int64_t rows = g.ny * g.nz, points = rows * g.nx, groups = call.channels / call.group, at_once = std::max<int64_t>(1, 4096 / g.nx);
  const int64_t pieces = (rows * groups + at_once - 1) / at_once, extent[3] = {g.nx, g.ny, g.nz};
  return device.threads().run(pieces, [&](int64_t piece, int) {
    for (int64_t r = piece * at_once; r < std::min(rows * groups, (piece + 1) * at_once); ++r) {
      const int64_t group = r / rows, row = r - group * rows, first = group * call.group;
      for (int64_t x = 0; x < g.nx; ++x) {
        const int64_t i[3] = {x, row % g.ny, row / g.ny};
        const auto around = im::Surroundings<R>::at(call.u + first * points, points, i, extent);
        const auto squares = im::face_squares(around, call.group, call.eps16, call.axes);
        for (int64_t c = 0; c < call.group; ++c) {
          const int64_t place = (first + c) * points + row * g.nx + x;
          const R quarter = im::quarter_curvature(around, c, squares, call.axes);
          call.result[place] = call.flow ? im::flow_step(call.u[place], call.f[place], quarter, call.weight4, call.dt) : R(4) * quarter;
        }
      }
    }
    return Status();
  }, control);
}

}  // namespace warploom::cpu
