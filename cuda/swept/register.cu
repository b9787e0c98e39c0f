// The variant `register`: the paper's swept rule with a warp as the node.
#include "cuda/swept/flux.h"
#include "cuda/swept/register_agent.cuh"
#include "cuda/swept/sweep.cuh"
#include "cuda/swept/variants.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

template <class Equation>
Status march_register(GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control) {
  constexpr bool kHeat = Equation::kEquation == operation::Equation::heat;
  if (operation::kHasFluxes<Equation> || (kHeat && march.domain.left != Boundary::periodic)) {
    return {Code::unsupported, "variant register takes kuramoto-sivashinsky, and heat with periodic ends: use tiled or shared", "variant"};
  }
  if constexpr (!operation::kHasFluxes<Equation>) {
    using Agent = RegisterAgent<Equation>;
    PhaseLauncher<Agent> launcher(device, march, Agent::kMostPoints);
    shape->threads = march.threads != 0 ? march.threads : policy::kRegisterThreads;
    const int64_t warps = march.batch * launcher.nodes().count, in_block = shape->threads / 32;
    const LaunchShape launch{(warps + in_block - 1) / in_block, shape->threads, 0, false};
    if (launcher.nodes().count == 1) {
      shape->depth = static_cast<int>(std::min<int64_t>(march.steps, policy::kStepsPerWholeLaunch));
      return launcher.whole(launch, control);
    }
    shape->depth = launcher.height();
    WARPLOOM_TRY(launcher.prepare());
    return sweep(device, march, shape->depth, true, control, [&](const Phase& phase) { return launcher.phase(phase, 0, launch); });
  }
  return {};
}

#define WARPLOOM_INSTANTIATE(Equation) \
  template Status march_register(GpuDevice&, const March<Equation>&, Shape*, Control&);
WARPLOOM_FOR_EQUATIONS(WARPLOOM_INSTANTIATE)
#undef WARPLOOM_INSTANTIATE

}  // namespace warploom::WARPLOOM_TARGET::swept
