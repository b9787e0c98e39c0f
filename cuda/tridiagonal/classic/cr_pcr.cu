// Launch of `cr-pcr`: cyclic reduction down to a few rows, parallel cyclic reduction on those.
#include "cuda/tridiagonal/classic/cr_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T>
Status solve_cr_pcr(GpuDevice& device, const Batch<T>& batch, Used* used) {
  return launch_cr<true>(device, operation::Algorithm::cr_pcr, batch, used);
}

template Status solve_cr_pcr(GpuDevice&, const Batch<float>&, Used*);
template Status solve_cr_pcr(GpuDevice&, const Batch<double>&, Used*);
template Status solve_cr_pcr(GpuDevice&, const Batch<Complex<float>>&, Used*);
template Status solve_cr_pcr(GpuDevice&, const Batch<Complex<double>>&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
