// Right-hand sides that share a matrix, and periodic systems, for complex128.
#include "cuda/tridiagonal/regpack_sides_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template Status solve_sides<Complex<double>>(GpuDevice&, const Batch<Complex<double>>&, Used*);
template Status solve_periodic_sides<Complex<double>>(GpuDevice&, const Batch<Complex<double>>&, const Complex<double>*, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
