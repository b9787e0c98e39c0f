// The variants `classic`: one launch per sub-step, and `classic-graph`: the same launches replayed.
#include "cuda/swept/classic.cuh"
#include "cuda/swept/replay.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

template <class Equation>
Status march_classic(GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control) {
  shape->threads = classic_threads(march);
  const typename Equation::Real* from = march.from;
  for (int64_t step = 0; step < march.steps; ++step) {
    if (control.cancelled()) return {Code::cancelled, "cancelled"};
    WARPLOOM_TRY(classic_step(device, march, from, classic_result(march, step), shape->threads));
    from = classic_result(march, step);
  }
  return {};
}

/// `classic-graph`: a run of steps as one CUDA graph, launched repeatedly. A graph node costs the device about 0.5 us;
/// a launch costs the host 4 us.
template <class Equation>
Status march_classic_graph(GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control) {
  using Real = typename Equation::Real;
  shape->threads = classic_threads(march);
  const int64_t asked = march.depth != 0 ? std::min(march.depth, policy::kMostStepsPerGraph) : policy::kStepsPerGraph;
  const int64_t run = asked + asked % 2;
  shape->depth = static_cast<int>(run);
  const Real* from = march.from;
  int64_t step = 0;
  const auto take = [&](int64_t count) -> Status {
    for (const int64_t end = step + count; step < end; ++step) {
      WARPLOOM_TRY(classic_step(device, march, from, classic_result(march, step), shape->threads));
      from = classic_result(march, step);
    }
    return {};
  };
  // Only the first step reads `from`; an even number of the others ends in the buffer where it began.
  WARPLOOM_TRY(take(1));
  const int64_t runs = (march.steps - 1) / run;
  const Real* const begin = from;
  WARPLOOM_TRY(replay_all(device, control, runs, run * march.elements(), [&]() -> Status {
    step = 1;
    from = begin;
    return take(run);
  }));
  step = 1 + runs * run;
  from = begin;
  return take(march.steps - step);
}

#define WARPLOOM_INSTANTIATE(Equation)                                                \
  template Status march_classic(GpuDevice&, const March<Equation>&, Shape*, Control&); \
  template Status march_classic_graph(GpuDevice&, const March<Equation>&, Shape*, Control&);
WARPLOOM_FOR_EQUATIONS(WARPLOOM_INSTANTIATE)
#undef WARPLOOM_INSTANTIATE

}  // namespace warploom::WARPLOOM_TARGET::swept
