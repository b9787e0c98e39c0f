// Right-hand sides that share a matrix, for float64.
#include "cuda/tridiagonal/regpack/matrix_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template Status solve_matrix_rows<double>(GpuDevice&, const Batch<double>&, Used*);
template Status solve_matrix_columns<double>(GpuDevice&, const Batch<double>&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
