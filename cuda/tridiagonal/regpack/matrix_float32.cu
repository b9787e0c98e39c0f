// Right-hand sides that share a matrix, for float32.
#include "cuda/tridiagonal/regpack/matrix_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template Status solve_matrix_rows<float>(GpuDevice&, const Batch<float>&, Used*);
template Status solve_matrix_columns<float>(GpuDevice&, const Batch<float>&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
