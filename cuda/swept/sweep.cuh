// Marches by the swept rule: the order of the phases and their launches, for `shared`, `hybrid` and `register`.
#pragma once
#include "cuda/swept/node_point.cuh"
#include "cuda/swept/replay.cuh"

namespace warploom::WARPLOOM_TARGET::swept {

/// Time steps that a phase goes up: as many as the nodes allow, or fewer if `asked` says so.
template <class Equation>
int steps_of_phase(const Nodes& nodes, bool tips, int asked) {
  const int64_t most = nodes.most_levels(Equation::kReach, tips) / Equation::kSubsteps;
  return static_cast<int>(asked > 0 && asked < most ? asked : most);
}

/// Calls launch(phase) for the phases of march.steps steps, `height` steps each; the last way up is shortened to the
/// steps that remain. replayed: a phase always makes the same launches, so they may be replayed as a graph.
template <class Equation, class Launch>
Status sweep(GpuDevice& device, const March<Equation>& march, int height, bool replayed, Control& control, const Launch& launch) {
  int64_t left = march.steps;
  Phase phase{0, static_cast<int>(std::min<int64_t>(height, left)) * Equation::kSubsteps, false};
  WARPLOOM_TRY(launch(phase));
  left -= phase.up / Equation::kSubsteps;
  const auto diamond = [&](int up) -> Status {
    phase = {phase.up, up, !phase.shifted};
    return launch(phase);
  };
  constexpr int64_t kPhases = policy::kPhasesPerGraph;  // even, so that the nodes are in the same position afterwards
  const int full = height * Equation::kSubsteps;
  if (replayed && left >= 2 * kPhases * height) {
    const int64_t times = left / (kPhases * height);
    WARPLOOM_TRY(replay_all(device, control, times, kPhases * height * march.elements(), [&]() -> Status {
      for (int64_t i = 0; i < kPhases; ++i) WARPLOOM_TRY(diamond(full));
      return {};
    }));
    left -= times * kPhases * height;
  }
  while (left > 0) {
    if (control.cancelled()) return {Code::cancelled, "cancelled"};
    WARPLOOM_TRY(diamond(static_cast<int>(std::min<int64_t>(height, left)) * Equation::kSubsteps));
    left -= phase.up / Equation::kSubsteps;
  }
  return diamond(0);
}

/// Launches one phase with nodes of at most `most_points` points. Between phases `to` and `spare` hold the two rows.
/// Agent::kTips: the nodes go up as far as the paper's.
template <class Agent>
class PhaseLauncher {
 public:
  using Equation = typename Agent::Equation;
  using Real = typename Equation::Real;
  PhaseLauncher(GpuDevice& device, const March<Equation>& march, int64_t most_points)
      : device_(device), march_(march), nodes_(Nodes::make(march.domain.n, most_points)) {}

  const Nodes& nodes() const { return nodes_; }
  /// Time steps that a phase goes up.
  int height() const { return steps_of_phase<Equation>(nodes_, Agent::kTips, march_.depth); }

  /// Allocates the tips, before the first of several phases.
  Status prepare() {
    if (!Agent::kTips) return {};
    WARPLOOM_TRY(Workspace::make(device_, 2 * tips_of_phase() * static_cast<int64_t>(sizeof(Real)), &tips_));
    return {};
  }

  Status phase(const Phase& phase, int64_t first_node, const LaunchShape& shape) const {
    return launch<Agent>(device_, shape, parameters(phase, first_node, false, phase.down == 0 ? march_.from : march_.to, phase.up == 0));
  }

  /// All steps, with the domain in one node.
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
  PhaseParameters<Equation> parameters(const Phase& phase, int64_t first_node, bool whole, const Real* from,
                                       bool last) const {
    Real* const tips = tips_.template as<Real>();
    return {march_.equation, march_.domain, nodes_, phase, march_.batch, whole, first_node, {from, march_.spare},
            {march_.to, last ? nullptr : march_.spare}, {tips, tips == nullptr ? nullptr : tips + tips_of_phase()}};
  }
  int64_t tips_of_phase() const { return march_.rows() * nodes_.count * 2 * Equation::kReach; }

  GpuDevice& device_;
  const March<Equation>& march_;
  Nodes nodes_;
  Workspace tips_;
};

}  // namespace warploom::WARPLOOM_TARGET::swept
