// The variant `classic`: one launch per sub-step.
#include "cuda/swept/classic.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

template <class Equation>
Status march_classic(GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control) {
  shape->threads = march.threads != 0 ? march.threads : policy::kClassicThreads;
  const typename Equation::Real* from = march.from;
  for (int64_t step = 0; step < march.steps; ++step) {
    if (control.cancelled()) return {Code::cancelled, "cancelled"};
    WARPLOOM_TRY(classic_step(device, march, from, classic_result(march, step), shape->threads));
    from = classic_result(march, step);
  }
  return {};
}

#define WARPLOOM_INSTANTIATE(Equation) \
  template Status march_classic(GpuDevice&, const March<Equation>&, Shape*, Control&);
WARPLOOM_FOR_EQUATIONS(WARPLOOM_INSTANTIATE)

}  // namespace warploom::WARPLOOM_TARGET::swept
