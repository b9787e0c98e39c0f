// Launch of `cr`: cyclic reduction in shared memory.
#include "cuda/tridiagonal/block_launch.cuh"
#include "cuda/tridiagonal/cr_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T>
Status solve_cr(GpuDevice& device, const Batch<T>& batch, Used* used) {
  using Agent = CrAgent<T>;
  typename Agent::Parameters p;
  p.batch = batch;
  return launch_in_block<Agent>(device, operation::Algorithm::cr, (batch.n + 1) / 2, Agent::problem_bytes, p, used);
}

template Status solve_cr(GpuDevice&, const Batch<float>&, Used*);
template Status solve_cr(GpuDevice&, const Batch<double>&, Used*);
template Status solve_cr(GpuDevice&, const Batch<Complex<float>>&, Used*);
template Status solve_cr(GpuDevice&, const Batch<Complex<double>>&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
