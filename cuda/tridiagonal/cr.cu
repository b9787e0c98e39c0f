// Launch of `cr`: cyclic reduction in shared memory.
#include "cuda/tridiagonal/cr_agent.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T>
Status solve_cr(GpuDevice& device, const Batch<T>& batch, Used* used) {
  using Agent = CrAgent<T>;
  const int64_t limit = device.limits().shared_bytes_per_block, room = limit - 16;
  const int64_t most = largest_fitting(room, [](int64_t n) { return Agent::problem_bytes(n); });
  if (batch.n > most) return too_large("cr", batch.n, most);
  typename Agent::Parameters p;
  p.batch = batch;
  p.groups = divide_block<Agent>((batch.n + 1) / 2, Agent::problem_bytes(batch.n), limit);
  used->algorithm = operation::Algorithm::cr;
  used->threads = p.groups.threads;
  return launch_groups<Agent>(device, p, used);
}

template Status solve_cr(GpuDevice&, const Batch<float>&, Used*);
template Status solve_cr(GpuDevice&, const Batch<double>&, Used*);
template Status solve_cr(GpuDevice&, const Batch<Complex<float>>&, Used*);
template Status solve_cr(GpuDevice&, const Batch<Complex<double>>&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
