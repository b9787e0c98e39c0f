// `tiled` for the Kuramoto–Sivashinsky equation.
#include "cuda/swept/step_kuramoto_sivashinsky.cuh"
#include "cuda/swept/tiled.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

template <>
Status march_tiled(GpuDevice& device, const March<operation::KuramotoSivashinsky<float>>& march, Shape* shape, Control& control) {
  return march_in_tiles(device, march, shape, control);
}
template <>
Status march_tiled(GpuDevice& device, const March<operation::KuramotoSivashinsky<double>>& march, Shape* shape, Control& control) {
  return march_in_tiles(device, march, shape, control);
}

}  // namespace warploom::WARPLOOM_TARGET::swept
