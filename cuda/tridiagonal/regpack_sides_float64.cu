// Right-hand sides that share a matrix, and periodic systems, for float64.
#include "cuda/tridiagonal/regpack_sides_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template Status solve_sides<double>(GpuDevice&, const Batch<double>&, Used*);
template Status solve_periodic_sides<double>(GpuDevice&, const Batch<double>&, const double*, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
