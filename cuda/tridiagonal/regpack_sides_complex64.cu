// Right-hand sides that share a matrix, and periodic systems, for complex64.
#include "cuda/tridiagonal/regpack_sides_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template Status solve_sides<Complex<float>>(GpuDevice&, const Batch<Complex<float>>&, Used*);
template Status solve_periodic_sides<Complex<float>>(GpuDevice&, const Batch<Complex<float>>&, const Complex<float>*, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
