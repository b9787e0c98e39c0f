// `tiled` for the Euler equations in float64.
#include "cuda/swept/tiled_euler.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

template <>
Status march_tiled(GpuDevice& device, const March<operation::Euler<double>>& march, Shape* shape, Control& control) {
  return march_euler(device, march, shape, control);
}

}  // namespace warploom::WARPLOOM_TARGET::swept
