// One time step of the paper's Classic, for `classic` and `classic-graph`.
#pragma once
#include <algorithm>

#include "cuda/core/launch.cuh"
#include "cuda/swept/advance_policy.h"
#include "cuda/swept/classic_agent.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

/// Threads of a block, which belongs to one problem.
template <class Equation>
int classic_threads(const March<Equation>& march) {
  const int asked = march.threads != 0 ? march.threads : policy::kClassicThreads;
  const int most = std::min(asked, ClassicAgent<Equation, 0>::kMaxThreads);
  return march.domain.n < most ? static_cast<int>((march.domain.n + 31) / 32 * 32) : most;
}

template <class Equation, int kSubstep>
Status classic_substep(GpuDevice& device, const March<Equation>& march, const typename Equation::Real* around,
                       const typename Equation::Real* base, typename Equation::Real* result, int threads) {
  using Agent = ClassicAgent<Equation, kSubstep>;
  const int64_t blocks = (march.domain.n + threads - 1) / threads;
  return launch<Agent>(device, {march.batch * blocks, threads, 0, false},
                       {march.equation, march.domain, around, base, result, static_cast<unsigned int>(blocks)});
}

/// Where step `step` of a march leaves its state: the two buffers alternate, so that the last step ends in `to`. With
/// two sub-steps the predicted state goes to `spare`, and the result is always in `to`.
template <class Equation>
typename Equation::Real* classic_result(const March<Equation>& march, int64_t step) {
  if (Equation::kSubsteps == 2) return march.to;
  return (march.steps - step) % 2 == 1 ? march.to : march.spare;
}

template <class Equation>
Status classic_step(GpuDevice& device, const March<Equation>& march, const typename Equation::Real* from,
                    typename Equation::Real* result, int threads) {
  if constexpr (Equation::kSubsteps == 1) {
    return classic_substep<Equation, 0>(device, march, from, from, result, threads);
  } else {
    WARPLOOM_TRY((classic_substep<Equation, 0>(device, march, from, from, march.spare, threads)));
    return classic_substep<Equation, 1>(device, march, march.spare, from, result, threads);
  }
}

}  // namespace warploom::WARPLOOM_TARGET::swept
