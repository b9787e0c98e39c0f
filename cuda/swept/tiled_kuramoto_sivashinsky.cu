// `tiled` for the Kuramoto–Sivashinsky equation.
#include "cuda/swept/step_kuramoto_sivashinsky.cuh"
#include "cuda/swept/tiled.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

template Status march_tiled(GpuDevice&, const March<operation::KuramotoSivashinsky<float>>&, Shape*, Control&);
template Status march_tiled(GpuDevice&, const March<operation::KuramotoSivashinsky<double>>&, Shape*, Control&);

}  // namespace warploom::WARPLOOM_TARGET::swept
