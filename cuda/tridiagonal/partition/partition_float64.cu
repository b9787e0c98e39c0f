// Partition method for float64.
#include "cuda/tridiagonal/partition/partition_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template Status solve_partition<double>(GpuDevice&, const Batch<double>&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
