// CR-RegPack for complex128 at the depths that no policy chooses.
#include "cuda/tridiagonal/regpack/cr_regpack_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

Status solve_cr_regpack_experiment(GpuDevice& device, const Batch<Complex<double>>& batch, int depth, Used* used) {
  return depth == 2 ? solve_cr_regpack_depth<Complex<double>, 2>(device, batch, used)
                    : solve_cr_regpack_depth<Complex<double>, 32>(device, batch, used);
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
