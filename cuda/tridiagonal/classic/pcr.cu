// Launches of `pcr`: parallel cyclic reduction in the registers of a warp, or in shared memory.
#include "cuda/tridiagonal/classic/block_launch.cuh"
#include "cuda/tridiagonal/classic/pcr_agent.cuh"
#include "cuda/tridiagonal/classic/pcr_warp_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T>
Status solve_pcr(GpuDevice& device, const Batch<T>& batch, Used* used) {
  const Status by_warps = solve_by_warps<false>(device, operation::Algorithm::pcr, batch, used);
  if (by_warps.code() != Code::unsupported) return by_warps;
  using Agent = PcrAgent<T>;
  typename Agent::Parameters p;
  p.batch = batch;
  return launch_in_block<Agent>(device, operation::Algorithm::pcr, batch.n, Agent::problem_bytes, p, used);
}

template Status solve_pcr(GpuDevice&, const Batch<float>&, Used*);
template Status solve_pcr(GpuDevice&, const Batch<double>&, Used*);
template Status solve_pcr(GpuDevice&, const Batch<Complex<float>>&, Used*);
template Status solve_pcr(GpuDevice&, const Batch<Complex<double>>&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
