// Right-hand sides that share a matrix, and periodic systems, for float64; complex128 has no such kernels.
#include "cuda/tridiagonal/regpack_sides_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template Status solve_sides<double>(GpuDevice&, const Batch<double>&, Used*);
template Status solve_periodic_sides<double>(GpuDevice&, const Batch<double>&, const double*, Used*);
template Status solve_sides<Complex<double>>(GpuDevice&, const Batch<Complex<double>>&, Used*);
template Status solve_periodic_sides<Complex<double>>(GpuDevice&, const Batch<Complex<double>>&, const Complex<double>*, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
