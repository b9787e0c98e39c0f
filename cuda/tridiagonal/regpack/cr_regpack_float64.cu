// CR-RegPack for float64.
#include "cuda/tridiagonal/regpack/cr_regpack_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template Status solve_cr_regpack<double>(GpuDevice&, const Batch<double>&, int, Used*);
template int checked_depth<double>(GpuDevice&, const Batch<double>&, int);
template Status solve_cr_regpack_checked<double>(GpuDevice&, const Batch<double>&, int, const Judging&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
