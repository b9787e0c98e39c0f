// A march by the swept rule in shared memory, for `shared` and `hybrid`.
#pragma once
#include "cuda/swept/shared_agent.cuh"
#include "cuda/swept/sweep.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

/// A march with nodes in shared memory, blocks of `threads`.
template <class Equation, bool kByWarp = false>
class SharedMarch {
 public:
  using Agent = SharedAgent<Equation, kByWarp>;
  SharedMarch(GpuDevice& device, const March<Equation>& march, int threads, Shape* shape)
      : march_(march), threads_(std::min(threads, Agent::kMaxThreads)),
        fits_(march.domain.n + Agent::kFluxes <= threads_), launcher_(device, march, fits_ ? march.domain.n : threads_) {
    if (fits_) threads_ = static_cast<int>((march.domain.n + Agent::kFluxes + 31) / 32 * 32);
    shape->threads = threads_;
    shape->depth = fits_ ? static_cast<int>(std::min<int64_t>(march.steps, policy::kStepsPerWholeLaunch)) : launcher_.height();
  }

  /// Whether the domain fits one block, which keeps it for all steps: no nodes, no phases.
  bool fits() const { return fits_; }
  Status whole(Control& control) const { return launcher_.whole(shape_of(march_.batch), control); }

  const Nodes& nodes() const { return launcher_.nodes(); }
  int height() const { return launcher_.height(); }
  /// One phase of the nodes, starting at `first_node`.
  Status phase(const Phase& phase, int64_t first_node) const {
    return launcher_.phase(phase, first_node, shape_of(march_.batch * (nodes().count - first_node)));
  }

 private:
  LaunchShape shape_of(int64_t blocks) const {
    return {blocks, threads_, static_cast<size_t>(Agent::shared_bytes(threads_)), false};
  }
  const March<Equation>& march_;
  int threads_;
  bool fits_;
  PhaseLauncher<Agent> launcher_;
};

}  // namespace warploom::WARPLOOM_TARGET::swept
