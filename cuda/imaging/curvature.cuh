// Launches of the curvature and of the curvature flow.
#pragma once
#include "cuda/core/launch.cuh"
#include "cuda/imaging/curvature_agent.cuh"

namespace warploom::WARPLOOM_TARGET::imaging {

/// The shape of a march over `components` images, whose threads hold `rows` rows; `resident` blocks fit a
/// multiprocessor.
template <class T>
MarchShape march_shape(const GpuDevice& device, const operation::Grid& grid, int64_t components, int rows, int resident, int64_t depth) {
  constexpr int threads = operation::curvature_policy::kMarchThreads;
  constexpr int kWide = 16 / static_cast<int>(sizeof(T));
  MarchShape s;
  s.stacked = grid.nz > 1;
  s.nx = static_cast<int32_t>(grid.nx);
  s.ny = static_cast<int32_t>(s.stacked ? grid.ny : 1);
  s.nz = static_cast<int32_t>(s.stacked ? grid.nz : grid.ny);
  s.points = operation::points_of(grid);
  const int64_t wanted = (grid.nx + kWide - 1) / kWide;
  while (s.stacked && s.lanes > 8 && s.lanes / 2 >= wanted) s.lanes /= 2;
  const int64_t groups = threads / s.lanes;
  s.columns = static_cast<int32_t>((wanted + s.lanes - 1) / s.lanes);
  s.rows = s.stacked ? static_cast<int32_t>((s.ny + groups * rows - 1) / (groups * rows)) : 1;
  s.depth = static_cast<int32_t>(depth > 0 ? depth
                                           : operation::curvature_policy::march_depth(s.nz, int64_t{s.columns} * s.rows * components,
                                               s.stacked ? 1 : groups,
                                                                                      device.limits().multiprocessors, resident));
  const int64_t of_block = s.depth * (s.stacked ? 1 : groups);
  s.chunks = static_cast<int32_t>((s.nz + of_block - 1) / of_block);
  return s;
}
inline int64_t march_blocks(const MarchShape& s, int64_t components) { return int64_t{s.columns} * s.rows * s.chunks * components; }
/// Whether a march supports the grid: positions in a plane are 32-bit.
inline bool march_takes(const operation::Grid& grid) { return grid.nz == 1 || grid.nx * grid.ny < (int64_t{1} << 31); }
/// Whether rows may be read in packs of 16 bytes.
template <class T>
bool rows_packed(const operation::Grid& grid, const void* first, const void* second, const void* third = nullptr) {
  const uintptr_t places = reinterpret_cast<uintptr_t>(first) | reinterpret_cast<uintptr_t>(second) | reinterpret_cast<uintptr_t>(third);
  return places % 16 == 0 && grid.nx % (16 / static_cast<int64_t>(sizeof(T))) == 0;
}

/// A march of `task` over `components` independent images of the grid. `depth`: planes of a chunk; 0 = policy.
template <class T, bool kFlow>
Status march_curvature(GpuDevice& device, const operation::Grid& grid, int64_t components, CurvatureTask<T> task, int64_t depth = 0) {
  namespace policy = operation::curvature_policy;
  const bool planar = grid.nz == 1, packed = rows_packed<T>(grid, task.u, task.result, task.f);
  task.shape = march_shape<T>(device, grid, components, policy::march_rows(kFlow), policy::march_blocks(sizeof(T), planar, kFlow, packed),
      depth);
  const LaunchShape shape = {march_blocks(task.shape, components), policy::kMarchThreads, 0, false};
  if (packed && planar) return launch<CurvatureMarchAgent<T, true, true, kFlow>>(device, shape, task);
  if (packed) return launch<CurvatureMarchAgent<T, false, true, kFlow>>(device, shape, task);
  if (planar) return launch<CurvatureMarchAgent<T, true, false, kFlow>>(device, shape, task);
  return launch<CurvatureMarchAgent<T, false, false, kFlow>>(device, shape, task);
}

/// One thread per point; `groups` images of task.channels components each.
template <class T, bool kFlow>
Status direct_curvature(GpuDevice& device, const operation::Grid& grid, int64_t groups, CurvatureTask<T> task) {
  constexpr int kThreads = operation::curvature_policy::kDirectThreads;
  task.shape.nx = static_cast<int32_t>(grid.nx);
  task.shape.ny = static_cast<int32_t>(grid.ny);
  task.shape.nz = static_cast<int32_t>(grid.nz);
  task.shape.points = operation::points_of(grid);
  task.shape.chunks = static_cast<int32_t>(groups);
  const LaunchShape shape = {(task.shape.points * groups + kThreads - 1) / kThreads, kThreads, 0, false};
  return task.even ? launch<CurvatureDirectAgent<T, kFlow, true>>(device, shape, task)
                   : launch<CurvatureDirectAgent<T, kFlow, false>>(device, shape, task);
}

}  // namespace warploom::WARPLOOM_TARGET::imaging
