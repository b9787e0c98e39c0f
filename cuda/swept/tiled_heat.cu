// `tiled` for the heat equation.
#include "cuda/swept/step_heat.cuh"
#include "cuda/swept/tiled.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

template Status march_tiled(GpuDevice&, const March<operation::Heat<float>>&, Shape*, Control&);
template Status march_tiled(GpuDevice&, const March<operation::Heat<double>>&, Shape*, Control&);

}  // namespace warploom::WARPLOOM_TARGET::swept
