// Partition method for float32.
#include "cuda/tridiagonal/partition/partition_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template Status solve_partition<float>(GpuDevice&, const Batch<float>&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
