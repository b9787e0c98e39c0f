// CR-RegPack for complex64.
#include "cuda/tridiagonal/regpack/cr_regpack_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template Status solve_cr_regpack<Complex<float>>(GpuDevice&, const Batch<Complex<float>>&, int, Used*);
template int checked_depth<Complex<float>>(GpuDevice&, const Batch<Complex<float>>&, int);
template Status solve_cr_regpack_checked<Complex<float>>(GpuDevice&, const Batch<Complex<float>>&, int, const Judging&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
