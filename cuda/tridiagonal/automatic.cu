// The fastest correct solver for a batch, by the policy of solve_policy.h.
#include "cuda/tridiagonal/batch.cuh"
#include "cuda/tridiagonal/solve_policy.h"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

/// Neighbouring systems stand next to each other in memory, rows far apart.
template <class T>
static bool interleaved(const Strided<T>& array, int64_t n) {
  return n > 1 && array.system_stride == 1 && array.row_stride > 1;
}

template <class T>
Status solve_automatic(GpuDevice& device, const Batch<T>& batch, Used* used) {
  if (operation::prefers_thomas(batch.n, batch.problems(), device.limits().multiprocessors,
                                interleaved(batch.diagonal, batch.n) && interleaved(batch.rhs, batch.n) &&
                                    interleaved(batch.solution, batch.n))) {
    const Status status = solve_thomas(device, batch, used);
    if (status.code() != Code::unsupported) return status;
  }
  // Beyond one block's registers the large-system solver takes over.
  const Status status = solve_cr_regpack(device, batch, 0, used);
  if (status.code() != Code::unsupported) return status;
  return solve_partition(device, batch, used);
}

template Status solve_automatic<float>(GpuDevice&, const Batch<float>&, Used*);
template Status solve_automatic<double>(GpuDevice&, const Batch<double>&, Used*);
template Status solve_automatic<Complex<float>>(GpuDevice&, const Batch<Complex<float>>&, Used*);
template Status solve_automatic<Complex<double>>(GpuDevice&, const Batch<Complex<double>>&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
