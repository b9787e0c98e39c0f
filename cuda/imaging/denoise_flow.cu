// Steps of the curvature flow.
#include "cuda/imaging/tv.cuh"

namespace warploom::WARPLOOM_TARGET::imaging {

template <class T>
Status march_flow(GpuDevice& device, const operation::Grid& grid, int64_t components, const CurvatureTask<T>& task, int64_t depth) {
  return march_curvature<T, true>(device, grid, components, task, depth);
}
template <class T>
Status direct_flow(GpuDevice& device, const operation::Grid& grid, int64_t groups, const CurvatureTask<T>& task) {
  return direct_curvature<T, true>(device, grid, groups, task);
}

#define WARPLOOM_INSTANTIATE(T)                                                                              \
  template Status march_flow(GpuDevice&, const operation::Grid&, int64_t, const CurvatureTask<T>&, int64_t); \
  template Status direct_flow(GpuDevice&, const operation::Grid&, int64_t, const CurvatureTask<T>&);
WARPLOOM_INSTANTIATE(float)
WARPLOOM_INSTANTIATE(double)
#undef WARPLOOM_INSTANTIATE

}  // namespace warploom::WARPLOOM_TARGET::imaging
