// CR-RegPack for complex64 at the depths that no policy chooses.
#include "cuda/tridiagonal/regpack/cr_regpack_launch.cuh"

namespace warploom::WARPLOOM_TARGET::tridiagonal {

Status solve_cr_regpack_experiment(GpuDevice& device, const Batch<Complex<float>>& batch, int depth, Used* used) {
  return depth == 2 ? solve_cr_regpack_depth<Complex<float>, 2>(device, batch, used)
                    : solve_cr_regpack_depth<Complex<float>, 32>(device, batch, used);
}

}  // namespace warploom::WARPLOOM_TARGET::tridiagonal
