// Iterations of primal-dual.
#include "cuda/imaging/tv.cuh"
#include "cuda/imaging/tv_direct_agent.cuh"
#include "cuda/imaging/tv_march_agent.cuh"

namespace warploom::WARPLOOM_TARGET::imaging {

template <class T>
Status march_tv(GpuDevice& device, const operation::Grid& grid, int64_t components, TvTask<T> task, int64_t depth) {
  namespace policy = operation::curvature_policy;
  const bool planar = grid.nz == 1;
  const bool packed = rows_packed<T>(grid, task.f, task.u[0], task.q[0]) && rows_packed<T>(grid, task.u[1], task.q[1]);
  task.shape = march_shape<T>(device, grid, components, policy::kTvRows, policy::tv_blocks(sizeof(T), planar, packed), depth);
  const LaunchShape shape = {march_blocks(task.shape, components), policy::kMarchThreads, 0, false};
  if (packed && planar) return launch<TvMarchAgent<T, true, true>>(device, shape, task);
  if (packed) return launch<TvMarchAgent<T, false, true>>(device, shape, task);
  if (planar) return launch<TvMarchAgent<T, true, false>>(device, shape, task);
  return launch<TvMarchAgent<T, false, false>>(device, shape, task);
}

template <class T>
Status direct_tv(GpuDevice& device, const operation::Grid& grid, int64_t components, TvTask<T> task) {
  constexpr int kThreads = operation::curvature_policy::kDirectThreads;
  MarchShape& s = task.shape;
  s.nx = static_cast<int32_t>(grid.nx);
  s.ny = static_cast<int32_t>(grid.ny);
  s.nz = static_cast<int32_t>(grid.nz);
  s.points = operation::points_of(grid);
  s.chunks = static_cast<int32_t>(components / task.channels);
  const LaunchShape shape = {(s.points * s.chunks + kThreads - 1) / kThreads, kThreads, 0, false};
  WARPLOOM_TRY(launch<TvPrimalAgent<T>>(device, shape, task));
  return launch<TvDualAgent<T>>(device, shape, task);
}

#define WARPLOOM_INSTANTIATE(T)                                                                      \
  template Status march_tv(GpuDevice&, const operation::Grid&, int64_t, TvTask<T>, int64_t);         \
  template Status direct_tv(GpuDevice&, const operation::Grid&, int64_t, TvTask<T>);
WARPLOOM_INSTANTIATE(float)
WARPLOOM_INSTANTIATE(double)
#undef WARPLOOM_INSTANTIATE

}  // namespace warploom::WARPLOOM_TARGET::imaging
