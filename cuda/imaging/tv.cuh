// Launches of denoising.
#pragma once
#include "cuda/imaging/curvature.cuh"
#include "cuda/imaging/tv_reduce_agent.cuh"

namespace warploom::WARPLOOM_TARGET::imaging {

/// One iteration of primal-dual: `march` over every component separately (tv_march.cu), or `direct` with task.channels
/// together.
template <class T>
Status march_tv(GpuDevice& device, const operation::Grid& grid, int64_t components, TvTask<T> task, int64_t depth = 0);
template <class T>
Status direct_tv(GpuDevice& device, const operation::Grid& grid, int64_t components, TvTask<T> task);
/// One step of the flow, in the same two ways (denoise_flow.cu).
template <class T>
Status march_flow(GpuDevice& device, const operation::Grid& grid, int64_t components, const CurvatureTask<T>& task, int64_t depth = 0);
template <class T>
Status direct_flow(GpuDevice& device, const operation::Grid& grid, int64_t groups, const CurvatureTask<T>& task);

/// The sum of `task`; its parts must have enough room.
template <class T, class Sum>
Status launch_sum(GpuDevice& device, const SumTask<T>& task) {
  using Parts = SumPartsAgent<T, Sum>;
  using List = SumListAgent<T, Sum>;
  constexpr int kWarps = Parts::kMaxThreads / 32;
  WARPLOOM_TRY(launch<Parts>(device, {(task.shape.parts + kWarps - 1) / kWarps, Parts::kMaxThreads, 0, false}, task));
  return launch<List>(device, {1, List::kMaxThreads, List::shared_bytes(), false}, task);
}

}  // namespace warploom::WARPLOOM_TARGET::imaging
