// CR-RegPack for complex128.
#include "cuda/tridiagonal/regpack/cr_regpack_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template Status solve_cr_regpack<Complex<double>>(GpuDevice&, const Batch<Complex<double>>&, int, Used*);
template int checked_depth<Complex<double>>(GpuDevice&, const Batch<Complex<double>>&, int);
template Status solve_cr_regpack_checked<Complex<double>>(GpuDevice&, const Batch<Complex<double>>&, int, const Judging&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
