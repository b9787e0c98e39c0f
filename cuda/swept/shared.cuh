// Launches of the swept rule in shared memory, for `shared` and `hybrid`.
#pragma once
#include "cuda/swept/shared_agent.cuh"
#include "cuda/swept/sweep.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

/// A march by nodes of at most `threads` points.
template <class Equation>
class SharedMarch {
 public:
  using Agent = SharedAgent<Equation>;
  SharedMarch(GpuDevice& device, const March<Equation>& march, int threads)
      : device_(device), march_(march), threads_(std::min(threads, Agent::kMaxThreads)),
        nodes_(Nodes::make(march.domain.n, threads_)), height_(steps_of_phase<Equation>(nodes_, march.depth)) {}

  const Nodes& nodes() const { return nodes_; }
  int height() const { return height_; }
  int threads() const { return threads_; }

  /// One phase of the nodes from `first_node` on: `to` and `spare` hold the two rows in between.
  Status phase(const Phase& phase, int64_t first_node) const {
    return launch(nodes_, threads_, phase, false, first_node, phase.down == 0 ? march_.from : march_.to);
  }

  /// A domain that fits one block stays there for all steps: no nodes, no phases.
  static bool fits_whole(int64_t n, int threads) {
    return n + Agent::kFluxes <= std::min(threads, Agent::kMaxThreads);
  }
  static Status whole(GpuDevice& device, const March<Equation>& march, Shape* shape, Control& control) {
    const int threads = static_cast<int>((march.domain.n + Agent::kFluxes + 31) / 32 * 32);
    SharedMarch one(device, march, threads);
    shape->threads = threads;
    shape->depth = static_cast<int>(std::min<int64_t>(march.steps, policy::kStepsPerWholeLaunch));
    for (int64_t done = 0; done < march.steps;) {
      if (control.cancelled()) return {Code::cancelled, "cancelled"};
      const int64_t steps = std::min<int64_t>(march.steps - done, policy::kStepsPerWholeLaunch);
      const Phase phase{0, static_cast<int>(steps) * Equation::kSubsteps, false};
      WARPLOOM_TRY(one.launch(Nodes::make(march.domain.n, march.domain.n), threads, phase, true, 0, done == 0 ? march.from : march.to));
      done += steps;
    }
    return {};
  }

 private:
  Status launch(const Nodes& nodes, int threads, const Phase& phase, bool whole, int64_t first_node,
                const typename Equation::Real* from) const {
    const int64_t blocks = march_.batch * (nodes.count - first_node);
    const bool last = whole || phase.up == 0;
    return ::warploom::WARPLOOM_TARGET::launch<Agent>(device_, {blocks, threads, static_cast<size_t>(Agent::shared_bytes(threads)), false},
                                            {march_.equation, march_.domain, nodes, phase, whole, first_node, {from, march_.spare},
                                             {march_.to, last ? nullptr : march_.spare}});
  }

  GpuDevice& device_;
  const March<Equation>& march_;
  int threads_;
  Nodes nodes_;
  int height_;
};

}  // namespace warploom::WARPLOOM_TARGET::swept
