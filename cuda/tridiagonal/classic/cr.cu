// Launch of `cr`: cyclic reduction in shared memory.
#include "cuda/tridiagonal/classic/cr_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template <class T>
Status solve_cr(GpuDevice& device, const Batch<T>& batch, Used* used) {
  return launch_cr<false>(device, operation::Algorithm::cr, batch, used);
}

template Status solve_cr(GpuDevice&, const Batch<float>&, Used*);
template Status solve_cr(GpuDevice&, const Batch<double>&, Used*);
template Status solve_cr(GpuDevice&, const Batch<Complex<float>>&, Used*);
template Status solve_cr(GpuDevice&, const Batch<Complex<double>>&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
