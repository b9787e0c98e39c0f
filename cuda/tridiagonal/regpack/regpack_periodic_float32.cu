// Periodic systems in one pass, for float32; complex64 has no such kernel.
#include "cuda/tridiagonal/regpack/regpack_periodic_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template Status solve_periodic_regpack<float>(GpuDevice&, const Batch<float>&, Used*);
template Status solve_periodic_regpack<Complex<float>>(GpuDevice&, const Batch<Complex<float>>&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
