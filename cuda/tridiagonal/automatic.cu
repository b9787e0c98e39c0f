// The fastest correct solver for a batch, by the policy of solve_policy.h.
#include "cuda/tridiagonal/batch.cuh"
#include "cuda/tridiagonal/solve_policy.h"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T>
Status solve_automatic(GpuDevice& device, const Batch<T>& batch, Used* used) {
  // Beyond one block's registers the large-system solver takes over.
  Status status = solve_cr_regpack(device, batch, 0, used);
  if (status.code() != Code::unsupported) return status;
  return solve_partition(device, batch, used);
}

template Status solve_automatic<float>(GpuDevice&, const Batch<float>&, Used*);
template Status solve_automatic<double>(GpuDevice&, const Batch<double>&, Used*);
template Status solve_automatic<Complex<float>>(GpuDevice&, const Batch<Complex<float>>&, Used*);
template Status solve_automatic<Complex<double>>(GpuDevice&, const Batch<Complex<double>>&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
