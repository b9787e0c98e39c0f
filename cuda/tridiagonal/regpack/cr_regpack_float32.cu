// CR-RegPack for float32.
#include "cuda/tridiagonal/regpack/cr_regpack_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

template Status solve_cr_regpack<float>(GpuDevice&, const Batch<float>&, int, Used*);
template int checked_depth<float>(GpuDevice&, const Batch<float>&, int);
template Status solve_cr_regpack_checked<float>(GpuDevice&, const Batch<float>&, int, const Judging&, Used*);

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
