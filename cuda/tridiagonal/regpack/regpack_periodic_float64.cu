// Periodic systems in one pass, for float64; complex128 has no such kernel.
#include "cuda/tridiagonal/regpack/regpack_periodic_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template Status solve_periodic_regpack<double>(GpuDevice&, const Batch<double>&, Used*);
template Status solve_periodic_regpack<Complex<double>>(GpuDevice&, const Batch<Complex<double>>&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
