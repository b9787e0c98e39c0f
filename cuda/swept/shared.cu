// The variants `shared`: the paper's swept rule on the GPU, and `hybrid`.
#include "cuda/swept/hybrid.cuh"
#include "cuda/swept/variants.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

template <class Equation, bool kByWarp>
Status march_nodes(GpuDevice& device, const March<Equation>& march, int threads, Shape* shape, Control& control) {
  const SharedMarch<Equation, kByWarp> shared(device, march, threads, shape);
  if (shared.fits()) return shared.whole(control);
  return sweep(device, march, shared.height(), true, control, [&](const Phase& phase) { return shared.phase(phase, 0); });
}

template <class Equation>
Status march_shared(GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control) {
  const int threads = march.threads != 0 ? march.threads : policy::shared_threads(Equation::kEquation, march.domain.n * march.batch);
  if constexpr (Equation::kEquation == operation::Equation::heat) {
    if (threads >= policy::kByWarpThreads) return march_nodes<Equation, true>(device, march, threads, shape, control);
  }
  return march_nodes<Equation, false>(device, march, threads, shape, control);
}

#define WARPLOOM_INSTANTIATE(Equation)                                               \
  template Status march_shared(GpuDevice&, const March<Equation>&, Shape*, Control&); \
  template Status march_hybrid(GpuDevice&, const March<Equation>&, Shape*, Control&);
WARPLOOM_FOR_EQUATIONS(WARPLOOM_INSTANTIATE)
#undef WARPLOOM_INSTANTIATE

}  // namespace warploom::WARPLOOM_TARGET::swept
