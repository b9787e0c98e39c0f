// Launch of PcrWarpAgent: real systems that fit a warp's registers.
#pragma once
#include "cuda/core/launch.cuh"
#include "cuda/tridiagonal/classic/pcr_warp_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T, int kDepth, bool kThomas>
Status launch_warps(GpuDevice& device, const Batch<T>& batch, Used* used) {
  using Agent = PcrWarpAgent<T, kDepth, kThomas>;
  constexpr int kWarps = Agent::kMaxThreads / 32;
  const int64_t blocks = (batch.problems() + kWarps - 1) / kWarps, slice = device.limits().max_blocks;
  used->threads = 32;
  for (int64_t first = 0; first < blocks; first += slice) {
    LaunchShape shape;
    shape.threads = Agent::kMaxThreads;
    shape.blocks = blocks - first < slice ? blocks - first : slice;
    WARPLOOM_TRY(launch<Agent>(device, shape, {batch, first * kWarps}));
    ++used->launches;
  }
  return {};
}

/// Code::unsupported for complex systems, for systems small enough to share a warp (shared memory suits them better),
/// and for systems with more rows than fit the registers of a warp (float32 1024, float64 512).
template <bool kThomas, class T>
Status solve_by_warps(GpuDevice& device, operation::Algorithm algorithm, const Batch<T>& batch, Used* used) {
  used->algorithm = algorithm;
  if constexpr (!kIsComplex<T>) {
    if (batch.n > 16 && batch.n <= 64) return launch_warps<T, 2, kThomas>(device, batch, used);
    if (batch.n > 64 && batch.n <= 256) return launch_warps<T, 8, kThomas>(device, batch, used);
    if (batch.n > 256 && batch.n <= 512) return launch_warps<T, 16, kThomas>(device, batch, used);
    if constexpr (sizeof(T) == 4) {
      if (batch.n > 512 && batch.n <= 1024) return launch_warps<T, 32, kThomas>(device, batch, used);
    }
  }
  return {Code::unsupported, "the system does not fit a warp's registers"};
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
