// Right-hand sides that share a matrix, and periodic systems, for float32.
#include "cuda/tridiagonal/regpack_sides_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template Status solve_sides<float>(GpuDevice&, const Batch<float>&, Used*);
template Status solve_periodic_sides<float>(GpuDevice&, const Batch<float>&, const float*, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
