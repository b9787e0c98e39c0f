// Marches by the swept rule: launches of its phases, for `shared`, `hybrid` and `register`.
#pragma once
#include "cuda/swept/register_agent.cuh"
#include "cuda/swept/shared_agent.cuh"
#include "cuda/swept/sweep.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

/// Launches of one phase with nodes of at most `most_points` points. In between, `to` and `spare` hold the two rows.
template <class Agent>
class PhaseLauncher {
 public:
  using Equation = typename Agent::Equation;
  PhaseLauncher(GpuDevice& device, const March<Equation>& march, int64_t most_points)
      : device_(device), march_(march), nodes_(Nodes::make(march.domain.n, most_points)) {}

  const Nodes& nodes() const { return nodes_; }
  /// Time steps that a phase goes up.
  int height() const { return steps_of_phase<Equation>(nodes_, march_.depth); }

  Status phase(const Phase& phase, int64_t first_node, const LaunchShape& shape) const {
    return launch<Agent>(device_, shape, parameters(phase, first_node, false, phase.down == 0 ? march_.from : march_.to, phase.up == 0));
  }

  /// All steps with the domain in one node.
  Status whole(const LaunchShape& shape, Control& control) const {
    for (int64_t done = 0; done < march_.steps;) {
      if (control.cancelled()) return {Code::cancelled, "cancelled"};
      const int steps = static_cast<int>(std::min<int64_t>(march_.steps - done, policy::kStepsPerWholeLaunch));
      const Phase phase{0, steps * Equation::kSubsteps, false};
      WARPLOOM_TRY(launch<Agent>(device_, shape, parameters(phase, 0, true, done == 0 ? march_.from : march_.to, true)));
      done += steps;
    }
    return {};
  }

 private:
  PhaseParameters<Equation> parameters(const Phase& phase, int64_t first_node, bool whole, const typename Equation::Real* from,
                                       bool last) const {
    return {march_.equation, march_.domain, nodes_, phase, march_.batch, whole, first_node, {from, march_.spare},
            {march_.to, last ? nullptr : march_.spare}};
  }

  GpuDevice& device_;
  const March<Equation>& march_;
  Nodes nodes_;
};

/// A march with nodes in shared memory, blocks of `threads`.
template <class Equation>
class SharedMarch {
 public:
  using Agent = SharedAgent<Equation>;
  SharedMarch(GpuDevice& device, const March<Equation>& march, int threads, Shape* shape)
      : march_(march), threads_(std::min(threads, Agent::kMaxThreads)),
        fits_(march.domain.n + Agent::kFluxes <= threads_), launcher_(device, march, fits_ ? march.domain.n : threads_) {
    if (fits_) threads_ = static_cast<int>((march.domain.n + Agent::kFluxes + 31) / 32 * 32);
    shape->threads = threads_;
    shape->depth = fits_ ? static_cast<int>(std::min<int64_t>(march.steps, policy::kStepsPerWholeLaunch)) : launcher_.height();
  }

  /// The domain fits one block, which keeps it for all steps: no nodes, no phases.
  bool fits() const { return fits_; }
  Status whole(Control& control) const { return launcher_.whole(shape_of(march_.batch), control); }

  const Nodes& nodes() const { return launcher_.nodes(); }
  int height() const { return launcher_.height(); }
  /// One phase of the nodes from `first_node` on.
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
