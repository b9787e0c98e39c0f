// Launch of `cr-pcr`: cyclic reduction down to a few rows, parallel cyclic reduction on those.
#include "cuda/tridiagonal/block_launch.cuh"
#include "cuda/tridiagonal/cr_pcr_agent.cuh"
#include "cuda/tridiagonal/hybrid_policy.h"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T>
Status solve_cr_pcr(GpuDevice& device, const Batch<T>& batch, Used* used) {
  using Agent = CrPcrAgent<T>;
  const auto bytes = [](int64_t n) { return Agent::problem_bytes(n, operation::cr_pcr_distance(n)); };
  typename Agent::Parameters p;
  p.batch = batch;
  p.distance = operation::cr_pcr_distance(batch.n);
  return launch_in_block<Agent>(device, operation::Algorithm::cr_pcr, (batch.n + 1) / 2, bytes, p, used);
}

template Status solve_cr_pcr(GpuDevice&, const Batch<float>&, Used*);
template Status solve_cr_pcr(GpuDevice&, const Batch<double>&, Used*);
template Status solve_cr_pcr(GpuDevice&, const Batch<Complex<float>>&, Used*);
template Status solve_cr_pcr(GpuDevice&, const Batch<Complex<double>>&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
