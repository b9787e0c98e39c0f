// Partition method for complex64.
#include "cuda/tridiagonal/partition/partition_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template Status solve_partition<Complex<float>>(GpuDevice&, const Batch<Complex<float>>&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
