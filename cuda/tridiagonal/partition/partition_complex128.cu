// Partition method for complex128.
#include "cuda/tridiagonal/partition/partition_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template Status solve_partition<Complex<double>>(GpuDevice&, const Batch<Complex<double>>&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
