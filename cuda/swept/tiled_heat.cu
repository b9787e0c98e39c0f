// `tiled` for the heat equation.
#include "cuda/swept/step_heat.cuh"
#include "cuda/swept/tiled.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

template <>
Status march_tiled(GpuDevice& device, const March<operation::Heat<float>>& march, Shape* shape, Control& control) {
  return march_in_tiles(device, march, shape, control);
}
template <>
Status march_tiled(GpuDevice& device, const March<operation::Heat<double>>& march, Shape* shape, Control& control) {
  return march_in_tiles(device, march, shape, control);
}

}  // namespace warploom::WARPLOOM_TARGET::swept
