// Right-hand sides that share a matrix, and periodic systems, for float32; complex64 has no such kernels.
#include "cuda/tridiagonal/regpack_sides_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template Status solve_sides<float>(GpuDevice&, const Batch<float>&, Used*);
template Status solve_periodic_sides<float>(GpuDevice&, const Batch<float>&, const float*, Used*);
template Status solve_sides<Complex<float>>(GpuDevice&, const Batch<Complex<float>>&, Used*);
template Status solve_periodic_sides<Complex<float>>(GpuDevice&, const Batch<Complex<float>>&, const Complex<float>*, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
